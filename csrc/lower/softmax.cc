// Softmax and log-softmax along one dim, in float32 for float16 and bfloat16, and their backward.
#include <cmath>
#include <limits>

#include "base/error.h"
#include "hlo/elementwise.h"
#include "hlo/shape.h"
#include "lower/families.h"
#include "lower/reducing.h"

namespace tpjrt::lower {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Shifted {
  Value x;    // x - max(x)
  Value sum;  // of exp(x - max(x)), repeated to x's dims
};

Shifted Shift(Value x, const Dims& dims) {
  Value shifted = x - Spread(ReduceOver(Monoid::kMax, x, dims), x.dims(), dims);
  Value sum = ReduceOver(Monoid::kSum, hlo::Exp(shifted), dims);
  return {shifted, Spread(sum, x.dims(), dims)};
}

Value SoftmaxOver(Value x, const Dims& dims) {
  Shifted s = Shift(x, dims);
  return hlo::Exp(s.x) / s.sum;
}

template <bool kLog>
Outcome Softmax(Context& c) {
  Value x = c.TensorAs("self", ComputeType(c.TensorType("self").dtype));
  const Dims dims = WrapDims({c.Int("dim")}, x.rank());
  if (!kLog) return Finished(c, SoftmaxOver(x, dims));
  Shifted s = Shift(x, dims);
  return Finished(c, s.x - hlo::Log(s.sum));
}

// Rows that are -inf throughout become zeros, not NaN.
Outcome SafeSoftmax(Context& c) {
  const DType dtype = c.Result().dtype;
  Value x = hlo::Convert(c.TensorAs("self", dtype), ComputeType(dtype));
  const Dims dims = WrapDims({c.Int("dim")}, x.rank());
  Value empty = ReduceOver(Monoid::kAnd, hlo::Eq(x, -kInfinity), dims);
  Value y = SoftmaxOver(x, dims);
  return Finished(c, hlo::Select(Spread(empty, x.dims(), dims), hlo::ZerosLike(y), y));
}

template <bool kLog>
Outcome SoftmaxBackward(Context& c) {
  const DType dtype = ComputeType(c.TensorType("output").dtype);
  Value grad = c.TensorAs("grad_output", dtype);
  Value y = c.TensorAs("output", dtype);
  const Dims dims = WrapDims({c.Int("dim")}, y.rank());
  Value weighted = kLog ? grad : grad * y;
  Value sum = Spread(ReduceOver(Monoid::kSum, weighted, dims), y.dims(), dims);
  return Finished(c, kLog ? grad - hlo::Exp(y) * sum : weighted - y * sum);
}

// The mask of nested-tensor attention: true hides. mask_type 0: [L, L] for all batches and heads;
// 1: [batch, L] for all heads and queries; 2: like self.
Value SpreadMask(Context& c, const Dims& dims) {
  Value mask = hlo::Convert(c.Tensor("mask"), DType::kBool);
  if (mask.dims() == dims) return mask;
  const auto rank = static_cast<int64_t>(dims.size());
  const int64_t type = c.Has("mask_type") ? c.Int("mask_type") : 2;
  if (type == 1 && mask.rank() == 2) return hlo::BroadcastInDim(mask, dims, {0, rank - 1});
  return hlo::BroadcastTo(mask, dims);
}

Outcome MaskedSoftmax(Context& c) {
  Value x = c.TensorAs("self", ComputeType(c.TensorType("self").dtype));
  const Dims dims = WrapDims({c.Has("dim") ? c.Int("dim") : -1}, x.rank());
  Value hidden = hlo::ConstantLike(x, -kInfinity);
  Value y = SoftmaxOver(hlo::Select(SpreadMask(c, x.dims()), hidden, x), dims);
  return FinishedAs(y, c.TensorType("self"));
}

Outcome MaskedSoftmaxBackward(Context& c) {
  const DType dtype = ComputeType(c.TensorType("output").dtype);
  Value grad = c.TensorAs("grad_output", dtype);
  Value y = c.TensorAs("output", dtype);
  const Dims dims = WrapDims({c.Has("dim") ? c.Int("dim") : -1}, y.rank());
  Value mask = hlo::Convert(c.Tensor("mask"), DType::kBool);
  Value zero = hlo::ZerosLike(y);
  Value weighted = hlo::Select(mask, zero, grad * y);
  Value sum = Spread(ReduceOver(Monoid::kSum, weighted, dims), y.dims(), dims);
  return FinishedAs(hlo::Select(mask, zero, weighted - y * sum), c.TensorType("output"));
}

const Row kRows[] = {
    {"_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", Softmax<false>},
    {"_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", Softmax<true>},
    {"_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) "
     "-> "
     "Tensor",
     SoftmaxBackward<false>},
    {"_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType "
     "input_dtype) "
     "-> Tensor",
     SoftmaxBackward<true>},
    {"_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", SafeSoftmax},
    {"_masked_softmax(Tensor self, Tensor mask, int? dim=None, int? mask_type=None) -> Tensor",
     MaskedSoftmax},
    {"_masked_softmax_backward(Tensor grad_output, Tensor output, Tensor mask, int? dim=None) -> "
     "Tensor",
     MaskedSoftmaxBackward},
};

}  // namespace

std::span<const Row> SoftmaxRows() { return kRows; }

}  // namespace tpjrt::lower
