#include "hlo/elementwise.h"
#include "hlo/text.h"

namespace tpjrt::hlo {
namespace {

Value EmitConvert(Value x, DType dtype) {
  return x.builder().Emit1("stablehlo.convert", std::vector<Value>{x}, "", Type{dtype, x.dims()});
}

bool IsSmallInteger(DType dtype) { return IsInteger(dtype) && ItemSize(dtype) < 4; }
bool IsFp8(DType dtype) { return IsFloat(dtype) && ItemSize(dtype) == 1; }

}  // namespace

Value Convert(Value x, DType dtype) {
  const DType from = x.dtype();
  if (from == dtype) return x;
  if (dtype == DType::kBool) return Ne(x, 0.0);
  if (IsComplex(from) && !IsComplex(dtype)) return Convert(Real(x), dtype);
  if (IsComplex(dtype) && !IsComplex(from)) {
    const Value real = Convert(x, RealOf(dtype));
    return Complex(real, ZerosLike(real));
  }
  // fp8 pairs with float32 only; everything else goes through it.
  if (IsFp8(from) && dtype != DType::kF32) return Convert(EmitConvert(x, DType::kF32), dtype);
  if (IsFp8(dtype) && from != DType::kF32) return EmitConvert(Convert(x, DType::kF32), dtype);
  // PyTorch's CPU wraps negative and large numbers in narrow integers; a direct conversion
  // saturates.
  if (IsFloat(from) && IsSmallInteger(dtype))
    return EmitConvert(EmitConvert(x, DType::kI32), dtype);
  // Otherwise the compilers make a select of a product with it, and False * inf is no longer NaN.
  if (from == DType::kBool && IsFloat(dtype)) return OptimizationBarrier(EmitConvert(x, dtype));
  return EmitConvert(x, dtype);
}

Value BitcastConvert(Value x, DType dtype) { return BitcastConvert(x, Type{dtype, x.dims()}); }

Value BitcastConvert(Value x, const Type& result) {
  if (x.type() == result) return x;
  for (DType dtype : {x.dtype(), result.dtype}) {
    RequireOperands(dtype != DType::kBool && !IsComplex(dtype), "stablehlo.bitcast_convert",
                    std::vector<Value>{x}, "bool and complex have no bits to reinterpret");
  }
  const size_t from = ItemSize(x.dtype());
  const size_t to = ItemSize(result.dtype);
  Dims expected = x.dims();
  if (from > to) expected.push_back(static_cast<int64_t>(from / to));
  if (from < to) {
    RequireOperands(!expected.empty() && expected.back() == static_cast<int64_t>(to / from),
                    "stablehlo.bitcast_convert", std::vector<Value>{x},
                    StrCat("the last dim must be the ratio of sizes to make ", ToString(result)));
    expected.pop_back();
  }
  RequireOperands(expected == result.dims, "stablehlo.bitcast_convert", std::vector<Value>{x},
                  StrCat("cannot make ", ToString(result)));
  return x.builder().Emit1("stablehlo.bitcast_convert", std::vector<Value>{x}, "", result);
}

Value Real(Value x) {
  if (!IsComplex(x.dtype())) return x;
  return x.builder().Emit1("stablehlo.real", std::vector<Value>{x}, "",
                           Type{RealOf(x.dtype()), x.dims()});
}

Value Imag(Value x) {
  if (!IsComplex(x.dtype())) return ZerosLike(x);
  return x.builder().Emit1("stablehlo.imag", std::vector<Value>{x}, "",
                           Type{RealOf(x.dtype()), x.dims()});
}

Value Complex(Value real, Value imag) {
  RequireSameType("stablehlo.complex", real, imag);
  RequireOperands(real.dtype() == DType::kF32 || real.dtype() == DType::kF64, "stablehlo.complex",
                  std::vector<Value>{real, imag}, "parts must be float32 or float64");
  return real.builder().Emit1("stablehlo.complex", std::vector<Value>{real, imag}, "",
                              Type{ComplexOf(real.dtype()), real.dims()});
}

Value Conj(Value x) { return IsComplex(x.dtype()) ? Complex(Real(x), -Imag(x)) : x; }

}  // namespace tpjrt::hlo
