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

}  // namespace tpjrt::lower
