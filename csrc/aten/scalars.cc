#include "aten/scalars.h"

#include <ATen/Dispatch_v2.h>

#include "aten/dtypes.h"

namespace tpjrt::aten {
namespace {

using exec::ScalarBits;

template <typename T>
T FromScalar(const c10::Scalar& value, bool checked) {
  if (checked) return value.to<T>();
  if (value.isComplex()) return c10::convert<T>(value.toComplexDouble());
  if (value.type() == c10::ScalarType::UInt64) return c10::convert<T>(value.toUInt64());
  if (value.isFloatingPoint()) return c10::convert<T>(value.toDouble());
  return c10::convert<T>(value.toLong());
}

}  // namespace

ScalarBits ToBits(const c10::Scalar& value, DType dtype, bool checked) {
  const c10::ScalarType type = ToScalarType(dtype);
  ScalarBits bits;
  AT_DISPATCH_V2(type, "scalar", AT_WRAP([&] {
                   bits = ScalarBits::Of(dtype, FromScalar<scalar_t>(value, checked));
                 }),
                 AT_EXPAND(AT_ALL_TYPES_AND_COMPLEX), AT_EXPAND(AT_BAREBONES_UNSIGNED_TYPES),
                 AT_EXPAND(AT_FLOAT8_TYPES), c10::kBool, c10::kHalf, c10::kBFloat16);
  return bits;
}

c10::Scalar FromBytes(const void* bytes, c10::ScalarType type) {
  c10::Scalar value;
  AT_DISPATCH_V2(type, "item", AT_WRAP([&] {
                   scalar_t number;
                   std::memcpy(&number, bytes, sizeof(number));
                   value = c10::Scalar(number);
                 }),
                 AT_EXPAND(AT_ALL_TYPES_AND_COMPLEX), AT_EXPAND(AT_BAREBONES_UNSIGNED_TYPES),
                 AT_EXPAND(AT_FLOAT8_TYPES), c10::kBool, c10::kHalf, c10::kBFloat16);
  return value;
}

ScalarBits ToBits(const at::Tensor& cpu_scalar, DType dtype) {
  return ToBits(FromBytes(cpu_scalar.const_data_ptr(), cpu_scalar.scalar_type()), dtype);
}

}  // namespace tpjrt::aten
