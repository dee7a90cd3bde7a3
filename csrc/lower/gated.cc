#include "lower/gated.h"

#include <vector>

#include "base/error.h"
#include "hlo/shape.h"
#include "lower/special_math.h"

namespace tpjrt::lower {
namespace {

struct Gated {
  Value linear, gate;
  int64_t dim;
};

Gated SplitInput(Context& c) {
  const Value x = c.TensorAs("self", ComputeType(c.Result().dtype));
  const int64_t dim = Context::WrapDim(c.Int("dim"), x.rank());
  const int64_t size = x.dim(dim);
  Require(size % 2 == 0, "Halving dimension must be even, but dimension ", dim, " is size ", size);
  return {hlo::SliceDim(x, dim, 0, size / 2), hlo::SliceDim(x, dim, size / 2, size), dim};
}

}  // namespace

Outcome Glu(Context& c) {
  const Gated g = SplitInput(c);
  return hlo::Convert(g.linear * Sigmoid(g.gate), c.Result().dtype);
}

Outcome GluBackward(Context& c) {
  const Gated g = SplitInput(c);
  const Value grad = c.TensorAs("grad_output", g.linear.dtype());
  const Value s = Sigmoid(g.gate);
  const std::vector<Value> parts = {grad * s, grad * g.linear * s * (1.0 - s)};
  return hlo::Convert(hlo::Concatenate(parts, g.dim), c.Result().dtype);
}

}  // namespace tpjrt::lower
