#include "hlo/elementwise.h"
#include "hlo/text.h"

namespace tpjrt::hlo {
namespace {

Value Emit(std::string_view name, Value x) {
  return x.builder().Emit1(name, std::vector<Value>{x}, "", x.type());
}

// Real or complex floating point.
Value Floating(std::string_view name, Value x) {
  RequireOperands(IsFloat(x.dtype()) || IsComplex(x.dtype()), name, std::vector<Value>{x},
                  "operand must be floating point or complex");
  return Emit(name, x);
}

Value RealFloating(std::string_view name, Value x) {
  RequireOperands(IsFloat(x.dtype()), name, std::vector<Value>{x},
                  "operand must be floating point");
  return Emit(name, x);
}

// Real floating point of more than 8 bits.
Value WideFloating(std::string_view name, Value x) {
  RequireOperands(IsFloat(x.dtype()) && ItemSize(x.dtype()) > 1, name, std::vector<Value>{x},
                  "operand must be floating point of at least 16 bits");
  return Emit(name, x);
}

Value Integral(std::string_view name, Value x) {
  RequireOperands(IsInteger(x.dtype()), name, std::vector<Value>{x}, "operand must be integer");
  return Emit(name, x);
}

Value RealBinary(std::string_view name, Value a, Value b) {
  RequireSameType(name, a, b);
  RequireOperands(IsFloat(a.dtype()), name, std::vector<Value>{a, b},
                  "operands must be floating point");
  return a.builder().Emit1(name, std::vector<Value>{a, b}, "", a.type());
}

}  // namespace

Value Abs(Value x) {
  if (IsUnsigned(x.dtype())) return x;
  RequireOperands(x.dtype() != DType::kBool, "stablehlo.abs", std::vector<Value>{x},
                  "not defined for bool");
  return x.builder().Emit1("stablehlo.abs", std::vector<Value>{x}, "",
                           Type{RealOf(x.dtype()), x.dims()});
}

Value Sign(Value x) {
  RequireOperands(x.dtype() != DType::kBool, "stablehlo.sign", std::vector<Value>{x},
                  "not defined for bool");
  if (IsUnsigned(x.dtype())) return Convert(Ne(x, 0.0), x.dtype());
  return Emit("stablehlo.sign", x);
}

Value Exp(Value x) { return Floating("stablehlo.exponential", x); }
Value Expm1(Value x) { return Floating("stablehlo.exponential_minus_one", x); }
Value Log(Value x) { return Floating("stablehlo.log", x); }
Value Log1p(Value x) { return Floating("stablehlo.log_plus_one", x); }
Value Sqrt(Value x) { return Floating("stablehlo.sqrt", x); }
Value Rsqrt(Value x) { return Floating("stablehlo.rsqrt", x); }
Value Cbrt(Value x) { return RealFloating("stablehlo.cbrt", x); }
Value Tanh(Value x) { return Floating("stablehlo.tanh", x); }
Value Logistic(Value x) { return Floating("stablehlo.logistic", x); }
Value Sin(Value x) { return Floating("stablehlo.sine", x); }
Value Cos(Value x) { return Floating("stablehlo.cosine", x); }
Value Tan(Value x) { return Floating("chlo.tan", x); }
Value Floor(Value x) { return RealFloating("stablehlo.floor", x); }
Value Ceil(Value x) { return RealFloating("stablehlo.ceil", x); }
Value RoundEven(Value x) { return RealFloating("stablehlo.round_nearest_even", x); }
Value Trunc(Value x) {
  // Ceil keeps the sign of (-1, 0): -0.
  return Select(Lt(x, 0.0), Ceil(x), Floor(x));
}
Value Popcnt(Value x) { return Integral("stablehlo.popcnt", x); }
Value CountLeadingZeros(Value x) { return Integral("stablehlo.count_leading_zeros", x); }

Value ReducePrecision(Value x, int exponent_bits, int mantissa_bits) {
  RequireOperands(IsFloat(x.dtype()), "stablehlo.reduce_precision", std::vector<Value>{x},
                  "operand must be floating point");
  return x.builder().Emit1("stablehlo.reduce_precision", std::vector<Value>{x},
                           StrCat("exponent_bits = ", exponent_bits,
                                  " : i32, mantissa_bits = ", mantissa_bits, " : i32"),
                           x.type());
}

Value OptimizationBarrier(Value x) { return Emit("stablehlo.optimization_barrier", x); }

Value Erf(Value x) { return RealFloating("chlo.erf", x); }
Value Erfc(Value x) { return WideFloating("chlo.erfc", x); }
Value ErfInv(Value x) { return RealFloating("chlo.erf_inv", x); }
Value Lgamma(Value x) { return RealFloating("chlo.lgamma", x); }
Value Digamma(Value x) { return RealFloating("chlo.digamma", x); }
Value Polygamma(Value n, Value x) { return RealBinary("chlo.polygamma", n, x); }
Value Zeta(Value x, Value q) { return RealBinary("chlo.zeta", x, q); }
Value BesselI1e(Value x) { return WideFloating("chlo.bessel_i1e", x); }
Value NextAfter(Value a, Value b) { return RealBinary("chlo.next_after", a, b); }
Value Acos(Value x) { return Floating("chlo.acos", x); }
Value Acosh(Value x) { return Floating("chlo.acosh", x); }
Value Asin(Value x) { return Floating("chlo.asin", x); }
Value Asinh(Value x) { return Floating("chlo.asinh", x); }
Value Atan(Value x) { return Floating("chlo.atan", x); }
Value Atanh(Value x) { return Floating("chlo.atanh", x); }
Value Sinh(Value x) { return Floating("chlo.sinh", x); }
Value Cosh(Value x) { return Floating("chlo.cosh", x); }

}  // namespace tpjrt::hlo
