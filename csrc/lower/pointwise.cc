#include "lower/pointwise.h"

namespace tpjrt::lower {

DType FloatTypeFor(Context& c, DType dtype) {
  if (IsFloat(dtype) || IsComplex(dtype)) return dtype;
  const DType result = c.Result().dtype;
  return IsFloat(result) || IsComplex(result) ? result : DType::kF32;
}

Value Wide(Context& c, std::string_view name, DType dtype) {
  return hlo::BroadcastTo(c.TensorAs(name, dtype), c.Result().dims);
}

Value WideScalar(Context& c, std::string_view name, DType dtype) {
  return hlo::BroadcastTo(c.Scalar(name, dtype), c.Result().dims);
}

Value Like(Value x, Value like) { return hlo::BroadcastTo(x, like.dims()); }

Value RoundedTo(Value x, DType type) {
  if (type == DType::kF16) return hlo::ReducePrecision(x, 5, 10);
  if (type == DType::kBF16) return hlo::ReducePrecision(x, 8, 7);
  return x;
}

}  // namespace tpjrt::lower
