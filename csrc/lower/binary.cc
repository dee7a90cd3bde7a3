// Arithmetic on two tensors with PyTorch's promotion.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>

#include "base/error.h"
#include "lower/families.h"
#include "lower/integer_power.h"
#include "lower/iterative_math.h"
#include "lower/orthogonal.h"
#include "lower/pointwise.h"
#include "lower/special_math.h"
#include "lower/value_fault.h"

namespace tpjrt::lower {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// torch.result_type(self, other), and its float type for functions that only exist on floats.
DType PromotedType(Context& c) { return c.Promoted({"self", "other"}); }
DType PromotedFloat(Context& c) { return FloatTypeFor(c, PromotedType(c)); }

struct Pair {
  Value a, b;
};
Pair Operands(Context& c, DType type) { return {Wide(c, "self", type), Wide(c, "other", type)}; }

// F in `type`, computed wide and rounded once.
template <BinaryFn F>
Outcome RoundedOnce(Context& c, DType type) {
  const Pair p = Operands(c, ComputeType(type));
  return hlo::Convert(F(p.a, p.b), type);
}

template <BinaryFn F>
Outcome Promoted(Context& c) {
  return RoundedOnce<F>(c, PromotedType(c));
}

// The same where F only selects or reads bits, so the promoted type itself is right.
template <BinaryFn F>
Outcome Exact(Context& c) {
  const Pair p = Operands(c, PromotedType(c));
  return F(p.a, p.b);
}

// F is a float function: integers become the default float type.
template <BinaryFn F>
Outcome Floating(Context& c) {
  return RoundedOnce<F>(c, PromotedFloat(c));
}

// A polynomial of degree `n` at `x`.
template <BinaryFn F>
Outcome Polynomial(Context& c) {
  const DType type = FloatTypeFor(c, c.Promoted({"x", "n"}));
  const DType compute = ComputeType(type);
  return hlo::Convert(F(Wide(c, "x", compute), Wide(c, "n", compute)), type);
}

// --- add, sub: other is scaled by alpha, which costs nothing when it is 1 or left out.
Value Scaled(Context& c, Value x, std::string_view factor) {
  if (!c.Has(factor) || c.Is(factor, 1.0)) return x;
  const Value alpha = Like(c.Scalar(factor, x.dtype()), x);  // wraps: alpha = -1 for uint8
  return x.dtype() == DType::kBool ? hlo::And(x, alpha) : x * alpha;
}

template <BinaryFn F, bool kReversed>
Outcome ScaledSum(Context& c) {
  const bool scales = c.Has("alpha");  // add.Scalar of a list has none
  if (scales && c.KindOf("alpha") == ScalarKind::kComplex) return Unsupported{"a complex alpha"};
  const DType type = PromotedType(c);
  const Pair p = Operands(c, ComputeType(type));
  const Value y = kReversed ? F(p.b, Scaled(c, p.a, "alpha")) : F(p.a, Scaled(c, p.b, "alpha"));
  return hlo::Convert(y, type);
}

Value Add(Value a, Value b) { return a + b; }
Value Subtract(Value a, Value b) { return a - b; }
Value Multiply(Value a, Value b) { return a * b; }
Value Divide(Value a, Value b) { return a / b; }

// --- division with rounding, remainders.
void CheckDivisor(Value divisor) {
  if (!IsInteger(divisor.dtype())) return;
  ReportValues(hlo::Eq(divisor, hlo::ZerosLike(divisor)), ValueFault::kDivisionByZero);
}

// PyTorch rounds the quotient of two narrow floats before it truncates.
Outcome DivideTrunc(Context& c) {
  const DType type = PromotedType(c);
  const Pair p = Operands(c, ComputeType(type));
  CheckDivisor(p.b);
  if (!IsFloat(type)) return p.a / p.b;
  return hlo::Convert(hlo::Trunc(RoundedTo(p.a / p.b, type)), type);
}

Value OppositeSigns(Value remainder, Value divisor) {
  return hlo::And(hlo::Ne(remainder, 0.0), hlo::Ne(hlo::Lt(remainder, 0.0), hlo::Lt(divisor, 0.0)));
}

// Python's //. For floats from the exact remainder, as CPython does.
Value FloorDivide(Value a, Value b) {
  CheckDivisor(b);
  if (IsUnsigned(a.dtype())) return a / b;
  const Value remainder = hlo::Rem(a, b);
  const Value down = OppositeSigns(remainder, b);
  if (IsInteger(a.dtype())) {
    const Value quotient = a / b;
    return hlo::Select(down, quotient - 1.0, quotient);
  }
  const Value exact = (a - remainder) / b;
  const Value quotient = hlo::Select(down, exact - 1.0, exact);
  const Value floor = hlo::Floor(quotient);
  const Value nearest = hlo::Select(hlo::Gt(quotient - floor, 0.5), floor + 1.0, floor);
  const Value zero = CopySign(hlo::ZerosLike(a), a / b);
  const Value y = hlo::Select(hlo::Ne(quotient, 0.0), nearest, zero);
  return hlo::Select(hlo::Eq(b, 0.0), a / b, y);
}

// Python's %: the sign of the divisor.
Value Remainder(Value a, Value b) {
  CheckDivisor(b);
  const Value remainder = hlo::Rem(a, b);
  if (IsUnsigned(a.dtype())) return remainder;
  return hlo::Select(OppositeSigns(remainder, b), remainder + b, remainder);
}

// C's fmod: the sign of the dividend.
Value TruncatedRemainder(Value a, Value b) {
  CheckDivisor(b);
  return hlo::Rem(a, b);
}

Outcome DivideRounded(Context& c) {
  const std::string mode = c.Has("rounding_mode") ? c.String("rounding_mode") : "";
  if (mode == "trunc") return DivideTrunc(c);
  if (mode == "floor") return Promoted<FloorDivide>(c);
  return Floating<Divide>(c);
}

Outcome RemainderOfScalar(Context& c) {
  const DType type = PromotedType(c);
  const DType compute = ComputeType(type);
  return hlo::Convert(Remainder(WideScalar(c, "self", compute), Wide(c, "other", compute)), type);
}

// --- powers.
Value Power(Value a, Value b) {
  if (a.dtype() == DType::kBool) return hlo::Or(a, hlo::Not(b));
  if (IsInteger(a.dtype())) return IntegerPower(a, b);
  if (!IsComplex(a.dtype())) return hlo::Pow(a, b);
  // x^0 is 1 for every x, 0 too.
  return hlo::Select(hlo::Eq(b, 0.0), hlo::ConstantLike(a, 1.0), hlo::Pow(a, b));
}

Outcome PowTensorTensor(Context& c) {
  const DType type = c.Promoted({"self", "exponent"});
  const DType compute = ComputeType(type);
  return hlo::Convert(Power(Wide(c, "self", compute), Wide(c, "exponent", compute)), type);
}

Outcome PowScalarTensor(Context& c) {
  const DType type = c.Promoted({"self", "exponent"});
  const DType compute = ComputeType(type);
  return hlo::Convert(Power(WideScalar(c, "self", compute), Wide(c, "exponent", compute)), type);
}

// The exponents for which PyTorch has a formula of its own, or an error.
bool IsSpecialExponent(double exponent) {
  constexpr double kFormulas[] = {0, 1, 2, 3, 0.5, -0.5};
  const bool negative_whole = exponent < 0 && std::floor(exponent) == exponent;
  return negative_whole ||
         std::find(std::begin(kFormulas), std::end(kFormulas), exponent) != std::end(kFormulas);
}

Value StaticPower(Value x, double exponent) {
  if (exponent == 0.0) return hlo::ConstantLike(x, 1.0);
  if (exponent == 1.0) return x;
  if (x.dtype() == DType::kBool) return x;
  if (exponent == 2.0) return x * x;
  if (exponent == 3.0) return x * x * x;
  if (!IsInteger(x.dtype())) {
    if (exponent == 0.5) return hlo::Sqrt(x);
    if (exponent == -0.5) return 1.0 / hlo::Sqrt(x);
    if (exponent == -1.0) return 1.0 / x;
    if (exponent == -2.0) return 1.0 / (x * x);
  }
  return Power(x, hlo::ConstantLike(x, exponent));
}

Outcome PowTensorScalar(Context& c) {
  if (c.KindOf("exponent") == ScalarKind::kComplex) return Unsupported{"a complex exponent"};
  const DType type = c.Promoted({"self", "exponent"});
  const Value x = Wide(c, "self", ComputeType(type));
  if (!c.IsStatic("exponent")) {
    return hlo::Convert(Power(x, Like(c.Scalar("exponent", x.dtype()), x)), type);
  }
  if (IsInteger(type) && c.StaticInt("exponent") >= 0) {
    return StaticIntegerPower(x, c.StaticInt("exponent"));
  }
  return hlo::Convert(StaticPower(x, c.StaticDouble("exponent")), type);
}

// --- extrema that ignore NaN.
template <BinaryFn F>
Value IgnoringNan(Value a, Value b) {
  const Value y = F(a, b);
  if (!IsFloat(a.dtype())) return y;
  return hlo::Select(hlo::IsNan(a), b, hlo::Select(hlo::IsNan(b), a, y));
}

Value XTimes(Value x, Value y, UnaryFn log) {
  const Value product = hlo::Select(hlo::Eq(x, 0.0), hlo::ZerosLike(x), x * log(y));
  return hlo::Select(hlo::IsNan(y), hlo::ConstantLike(x, kNan), product);
}
Value XLogY(Value x, Value y) { return XTimes(x, y, hlo::Log); }
Value XLog1pY(Value x, Value y) { return XTimes(x, y, hlo::Log1p); }

// Complex: the operand with the larger real part is taken out of the sum.
Value ComplexLogAddExp(Value a, Value b) {
  const Value real_a = hlo::Real(a);
  const Value real_b = hlo::Real(b);
  const Value larger = hlo::Ge(real_a, real_b);
  const Value high = hlo::Select(larger, a, b);
  const Value low = hlo::Select(larger, b, a);
  const Value sum = high + hlo::Log1p(hlo::Exp(low - high));
  const Value nothing =
      hlo::And(hlo::IsInf(real_a), hlo::And(hlo::Eq(real_a, real_b), hlo::Lt(real_a, 0.0)));
  return hlo::Select(nothing, high, sum);
}

Value AnyLogAddExp(Value a, Value b) {
  return IsComplex(a.dtype()) ? ComplexLogAddExp(a, b) : LogAddExp(a, b);
}

Outcome Heaviside(Context& c) {
  const DType type = c.Promoted({"self", "values"});
  const Value x = Wide(c, "self", type);
  const Value one = hlo::ConstantLike(x, 1.0);
  const Value zero = hlo::ZerosLike(x);
  const Value step = type == DType::kBool ? x : hlo::Select(hlo::Gt(x, zero), one, zero);
  return hlo::Select(hlo::Eq(x, zero), Wide(c, "values", type), step);
}

Value Ldexp(Value x, Value n) { return x * Exp2(n); }

// --- shifts. Out-of-range counts give 0 or the sign, in PyTorch as in StableHLO.
Value ShiftRight(Value a, Value b) {
  return IsUnsigned(a.dtype()) ? hlo::ShiftRightLogical(a, b) : hlo::ShiftRightArithmetic(a, b);
}

template <BinaryFn F>
Outcome ShiftScalar(Context& c) {
  const DType type = PromotedType(c);
  return F(Wide(c, "self", type), WideScalar(c, "other", type));
}

bool IsOne(double value) { return value == 1; }

constexpr Traits kAlpha{
    .special_scalars = "alpha", .is_special = IsOne, .checked_scalars = "alpha"};
constexpr Traits kExponent{
    .special_scalars = "exponent", .is_special = IsSpecialExponent, .checked_scalars = "exponent"};

constexpr Row kRows[] = {
    {"add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", ScaledSum<Add, false>,
     kAlpha},
    {"sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
     ScaledSum<Subtract, false>, kAlpha},
    {"rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
     ScaledSum<Subtract, true>, kAlpha},
    {"mul.Tensor(Tensor self, Tensor other) -> Tensor", Promoted<Multiply>},
    {"div.Tensor(Tensor self, Tensor other) -> Tensor", Floating<Divide>},
    {"div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor", DivideRounded},
    {"floor_divide(Tensor self, Tensor other) -> Tensor", Promoted<FloorDivide>},
    {"remainder.Tensor(Tensor self, Tensor other) -> Tensor", Promoted<Remainder>},
    {"remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", RemainderOfScalar},
    {"fmod.Tensor(Tensor self, Tensor other) -> Tensor", Promoted<TruncatedRemainder>},
    {"pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", PowTensorTensor},
    {"pow.Scalar(Scalar self, Tensor exponent) -> Tensor", PowScalarTensor},
    {"pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", PowTensorScalar, kExponent},

    {"maximum(Tensor self, Tensor other) -> Tensor", Exact<hlo::Max>},
    {"minimum(Tensor self, Tensor other) -> Tensor", Exact<hlo::Min>},
    {"fmax(Tensor self, Tensor other) -> Tensor", Exact<IgnoringNan<hlo::Max>>},
    {"fmin(Tensor self, Tensor other) -> Tensor", Exact<IgnoringNan<hlo::Min>>},
    {"gcd(Tensor self, Tensor other) -> Tensor", Exact<Gcd>},
    {"lcm(Tensor self, Tensor other) -> Tensor", Exact<Lcm>},
    {"heaviside(Tensor self, Tensor values) -> Tensor", Heaviside},

    {"atan2(Tensor self, Tensor other) -> Tensor", Floating<hlo::Atan2>},
    {"hypot(Tensor self, Tensor other) -> Tensor", Promoted<Hypot>},
    {"copysign.Tensor(Tensor self, Tensor other) -> Tensor", Floating<CopySign>},
    {"nextafter(Tensor self, Tensor other) -> Tensor", Exact<hlo::NextAfter>},
    {"ldexp.Tensor(Tensor self, Tensor other) -> Tensor", Floating<Ldexp>},
    {"logaddexp(Tensor self, Tensor other) -> Tensor", Floating<AnyLogAddExp>},
    {"logaddexp2(Tensor self, Tensor other) -> Tensor", Floating<LogAddExp2>},
    {"xlogy.Tensor(Tensor self, Tensor other) -> Tensor", Floating<XLogY>},
    {"special_xlog1py(Tensor self, Tensor other) -> Tensor", Floating<XLog1pY>},
    {"special_zeta(Tensor self, Tensor other) -> Tensor", Floating<HurwitzZeta>},
    {"igamma(Tensor self, Tensor other) -> Tensor", Floating<IgammaLower>},
    {"igammac(Tensor self, Tensor other) -> Tensor", Floating<IgammaUpper>},
    {"special_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor", Polynomial<ChebyshevT>},
    {"special_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor", Polynomial<ChebyshevU>},
    {"special_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor", Polynomial<ChebyshevV>},
    {"special_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor", Polynomial<ChebyshevW>},
    {"special_shifted_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor",
     Polynomial<ShiftedChebyshevT>},
    {"special_shifted_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor",
     Polynomial<ShiftedChebyshevU>},
    {"special_shifted_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor",
     Polynomial<ShiftedChebyshevV>},
    {"special_shifted_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor",
     Polynomial<ShiftedChebyshevW>},
    {"special_hermite_polynomial_h(Tensor x, Tensor n) -> Tensor", Polynomial<HermiteH>},
    {"special_hermite_polynomial_he(Tensor x, Tensor n) -> Tensor", Polynomial<HermiteHe>},
    {"special_laguerre_polynomial_l(Tensor x, Tensor n) -> Tensor", Polynomial<Laguerre>},
    {"special_legendre_polynomial_p(Tensor x, Tensor n) -> Tensor", Polynomial<Legendre>},

    {"bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor", Exact<hlo::And>},
    {"bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor", Exact<hlo::Or>},
    {"bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor", Exact<hlo::Xor>},
    {"bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor", Exact<hlo::ShiftLeft>},
    {"bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor", Exact<ShiftRight>},
    {"__lshift__.Tensor(Tensor self, Tensor other) -> Tensor", Exact<hlo::ShiftLeft>},
    {"__lshift__.Scalar(Tensor self, Scalar other) -> Tensor", ShiftScalar<hlo::ShiftLeft>},
    {"__rshift__.Tensor(Tensor self, Tensor other) -> Tensor", Exact<ShiftRight>},
    {"__rshift__.Scalar(Tensor self, Scalar other) -> Tensor", ShiftScalar<ShiftRight>},
};

}  // namespace

std::span<const Row> BinaryRows() { return kRows; }

}  // namespace tpjrt::lower
