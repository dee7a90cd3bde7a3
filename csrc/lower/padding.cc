#include "lower/padding.h"

#include <algorithm>

#include "hlo/elementwise.h"
#include "hlo/shape.h"
#include "lower/linear_map.h"

namespace tpjrt::lower {
namespace {

using Edge = int64_t (*)(int64_t position, int64_t size);

int64_t Reflect(int64_t position, int64_t size) {
  if (position < 0) position = -position;
  return position >= size ? 2 * (size - 1) - position : position;
}

int64_t Replicate(int64_t position, int64_t size) {
  return std::clamp<int64_t>(position, 0, size - 1);
}

LinearMap EdgeMap(int64_t size, int64_t before, int64_t after, Edge edge) {
  LinearMap map;
  map.inputs = size;
  for (int64_t o = -before; o < size + after; ++o) map.rows.push_back({{edge(o, size), 1.0}});
  return map;
}

Outcome Forward(Context& c, Edge edge) {
  Value x = c.Tensor("self");
  const Dims padding = c.Ints("padding");
  for (size_t i = 0; i + 1 < padding.size(); i += 2) {
    const int64_t dim = x.rank() - 1 - static_cast<int64_t>(i / 2);
    if (padding[i] == 0 && padding[i + 1] == 0) continue;
    x = Apply(EdgeMap(x.dim(dim), padding[i], padding[i + 1], edge), x, dim);
  }
  return x;
}

Outcome Backward(Context& c, Edge edge) {
  const Type out = c.Result();
  Value grad = c.TensorAs("grad_output", ComputeType(out.dtype));
  const Dims padding = c.Ints("padding");
  for (size_t i = 0; i + 1 < padding.size(); i += 2) {
    const int64_t dim = grad.rank() - 1 - static_cast<int64_t>(i / 2);
    if (padding[i] == 0 && padding[i + 1] == 0) continue;
    const int64_t size = out.dims[static_cast<size_t>(dim)];
    grad = Apply(Transposed(EdgeMap(size, padding[i], padding[i + 1], edge)), grad, dim);
  }
  return hlo::Convert(grad, out.dtype);
}

}  // namespace

Outcome ConstantPad(Context& c) {
  Value x = c.Tensor("self");
  const Dims pad = c.Ints("pad");
  Dims low(static_cast<size_t>(x.rank()), 0), high = low, interior = low;
  for (size_t i = 0; i + 1 < pad.size(); i += 2) {
    const size_t dim = low.size() - 1 - i / 2;
    low[dim] = pad[i];
    high[dim] = pad[i + 1];
  }
  return hlo::Pad(x, c.Scalar("value", x.dtype()), low, high, interior);
}

Outcome ReflectionPad(Context& c) { return Forward(c, Reflect); }
Outcome ReflectionPadBackward(Context& c) { return Backward(c, Reflect); }
Outcome ReplicationPad(Context& c) { return Forward(c, Replicate); }
Outcome ReplicationPadBackward(Context& c) { return Backward(c, Replicate); }

}  // namespace tpjrt::lower
