// Elementwise ops: constants, arithmetic, comparison, selection, conversion, special functions.
// Operands of one op have equal types unless said otherwise; the result has the operands' dims.
#pragma once

#include <complex>
#include <cstdint>

#include "hlo/builder.h"

namespace tpjrt::hlo {

// Splat constants. The number is converted to dtype exactly as a C cast would; NaN and infinities
// are kept for float types and are errors for integer types. Out-of-range integers are errors.
Value Constant(Builder& b, DType dtype, double value, const Dims& dims = {});
Value ConstantInt(Builder& b, DType dtype, int64_t value, const Dims& dims = {});
Value ConstantComplex(Builder& b, DType dtype, std::complex<double> value, const Dims& dims = {});
// A dense constant with given elements in row-major order (integers).
Value ConstantList(Builder& b, DType dtype, const std::vector<int64_t>& values, const Dims& dims);
// A constant of x's type.
Value ConstantLike(Value x, double value);
Value ZerosLike(Value x);
// Limits of a dtype as a splat: for floats -inf/+inf, for integers and bool the range's ends.
Value LowestValue(Builder& b, DType dtype, const Dims& dims = {});
Value HighestValue(Builder& b, DType dtype, const Dims& dims = {});

// Arithmetic. Integer division truncates toward zero (StableHLO); on bool `+` is or, `*` is and.
Value operator+(Value a, Value b);
Value operator-(Value a, Value b);
Value operator*(Value a, Value b);
Value operator/(Value a, Value b);
Value operator+(Value a, double b);
Value operator-(Value a, double b);
Value operator*(Value a, double b);
Value operator/(Value a, double b);
Value operator+(double a, Value b);
Value operator-(double a, Value b);
Value operator*(double a, Value b);
Value operator/(double a, Value b);
Value operator-(Value x);
Value Rem(Value a, Value b);  // sign of the dividend (C's fmod and %)
Value Max(Value a, Value b);  // NaN if either is NaN
Value Min(Value a, Value b);
Value Pow(Value a, Value b);
Value Atan2(Value a, Value b);
Value And(Value a, Value b);  // bool or integer
Value Or(Value a, Value b);
Value Xor(Value a, Value b);
Value Not(Value x);
Value ShiftLeft(Value a, Value b);
Value ShiftRightArithmetic(Value a, Value b);
Value ShiftRightLogical(Value a, Value b);
Value Clamp(Value low, Value x, Value high);  // low/high: x's type or rank 0

// Comparison: bool results. Float comparison is IEEE (NaN unequal to all); bool compares as
// unsigned.
Value Eq(Value a, Value b);
Value Ne(Value a, Value b);
Value Lt(Value a, Value b);
Value Le(Value a, Value b);
Value Gt(Value a, Value b);
Value Ge(Value a, Value b);
Value Eq(Value a, double b);
Value Ne(Value a, double b);
Value Lt(Value a, double b);
Value Le(Value a, double b);
Value Gt(Value a, double b);
Value Ge(Value a, double b);
// Total order on floats (-NaN < -inf < ... < inf < NaN), for sort comparators.
Value LtTotalOrder(Value a, Value b);
Value GtTotalOrder(Value a, Value b);

Value Select(Value predicate, Value on_true, Value on_false);  // predicate: same dims or rank 0
Value IsFinite(Value x);
Value IsNan(Value x);  // also for complex (either part); false constant for integers
Value IsInf(Value x);

// Conversion with PyTorch's meaning: to bool is `!= 0`; complex to real drops the imaginary part;
// float to integer truncates toward zero (out of range: implementation-defined, as in PyTorch).
Value Convert(Value x, DType dtype);
// Reinterpretation of bits between types of equal size (not bool, not complex).
Value BitcastConvert(Value x, DType dtype);
// Bitcast to a type of another size: the result gains or loses the last dim as StableHLO says.
Value BitcastConvert(Value x, const Type& result);

Value Abs(Value x);  // complex -> its real type; unsigned -> itself
Value Sign(Value x);
Value Exp(Value x);
Value Expm1(Value x);
Value Log(Value x);
Value Log1p(Value x);
Value Sqrt(Value x);
Value Rsqrt(Value x);
Value Cbrt(Value x);
Value Tanh(Value x);
Value Logistic(Value x);
Value Sin(Value x);
Value Cos(Value x);
Value Tan(Value x);
Value Floor(Value x);
Value Ceil(Value x);
Value RoundEven(Value x);  // half to even
Value Trunc(Value x);      // toward zero
Value Popcnt(Value x);
Value CountLeadingZeros(Value x);
Value ReducePrecision(Value x, int exponent_bits, int mantissa_bits);
Value OptimizationBarrier(Value x);

Value Real(Value x);  // identity on real types
Value Imag(Value x);  // zeros on real types
Value Complex(Value real, Value imag);
Value Conj(Value x);  // identity on real types

// CHLO: expanded by the plugin's compiler.
Value Erf(Value x);
Value Erfc(Value x);
Value ErfInv(Value x);
Value Lgamma(Value x);
Value Digamma(Value x);
Value Polygamma(Value n, Value x);
Value Zeta(Value x, Value q);
Value BesselI1e(Value x);
Value NextAfter(Value a, Value b);
Value Acos(Value x);
Value Acosh(Value x);
Value Asin(Value x);
Value Asinh(Value x);
Value Atan(Value x);
Value Atanh(Value x);
Value Sinh(Value x);
Value Cosh(Value x);

}  // namespace tpjrt::hlo
