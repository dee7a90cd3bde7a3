// Functions of one tensor, element by element.
#include <cmath>
#include <limits>
#include <numbers>

#include "base/error.h"
#include "lower/bessel.h"
#include "lower/families.h"
#include "lower/iterative_math.h"
#include "lower/pointwise.h"
#include "lower/special_math.h"

namespace tpjrt::lower {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

bool IsReal(Value x) { return !IsComplex(x.dtype()); }
bool IsIntegral(Value x) { return IsInteger(x.dtype()) || x.dtype() == DType::kBool; }

Value Log2(Value x) { return hlo::Log(x) * std::numbers::log2e; }
Value Log10(Value x) { return hlo::Log(x) * std::numbers::log10e; }
Value Reciprocal(Value x) { return 1.0 / x; }
Value Rsqrt(Value x) { return 1.0 / hlo::Sqrt(x); }
Value Deg2Rad(Value x) { return x * (std::numbers::pi / 180); }
Value Rad2Deg(Value x) { return x * (180 / std::numbers::pi); }

// Integers are whole already.
template <UnaryFn F>
Value Rounded(Value x) {
  return IsIntegral(x) ? x : F(x);
}
Value Frac(Value x) { return x - hlo::Trunc(x); }

Value Neg(Value x) { return -x; }

Value SignOf(Value x) {
  if (x.dtype() == DType::kBool) return x;
  if (IsIntegral(x)) return hlo::Sign(x);
  const Value zero = hlo::ZerosLike(x);
  const Value one = hlo::ConstantLike(x, 1.0);
  return hlo::Select(hlo::Gt(x, zero), one, hlo::Select(hlo::Lt(x, zero), -one, zero));
}

Value Sgn(Value x) {
  if (IsReal(x)) return SignOf(x);
  const Value length = hlo::Abs(x);
  const Value unit = hlo::Complex(hlo::Real(x) / length, hlo::Imag(x) / length);
  return hlo::Select(hlo::Eq(length, 0.0), hlo::ZerosLike(x), unit);
}

Outcome Abs(Context& c) {
  const Value x = c.Tensor("self");
  return x.dtype() == DType::kBool ? x : hlo::Abs(x);
}

Value BitwiseNot(Value x) { return hlo::Not(x); }
Value LogicalNot(Value x) { return hlo::Not(hlo::Convert(x, DType::kBool)); }
Value IsPosInf(Value x) { return hlo::And(hlo::IsInf(x), hlo::Not(SignBit(x))); }
Value IsNegInf(Value x) { return hlo::And(hlo::IsInf(x), SignBit(x)); }

Outcome RoundDecimals(Context& c) {
  const DType type = c.TensorType("self").dtype;
  if (!IsFloat(type)) return c.Tensor("self");
  const int64_t decimals = c.Int("decimals");
  const double scale = std::pow(10.0, static_cast<double>(std::abs(decimals)));
  const Value x = c.TensorAs("self", ComputeType(type));
  if (decimals == 0) return hlo::Convert(hlo::RoundEven(x), type);
  const Value y =
      decimals > 0 ? hlo::RoundEven(x * scale) / scale : hlo::RoundEven(x / scale) * scale;
  return hlo::Convert(y, type);
}

double LargestFinite(DType type) {
  switch (type) {
    case DType::kF16:
      return 65504.0;
    case DType::kBF16:
      return 0x1.FEp127;
    case DType::kF32:
    case DType::kC64:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

// A replacement given by the caller, or the default.
Value Replacement(Context& c, std::string_view name, double otherwise, Value like) {
  if (!c.Has(name)) return hlo::ConstantLike(like, otherwise);
  return Like(c.Scalar(name, like.dtype()), like);
}

Value RealNanToNum(Context& c, Value x, double largest) {
  const Value high = Replacement(c, "posinf", largest, x);
  const Value low = Replacement(c, "neginf", -largest, x);
  Value y = hlo::Select(hlo::Eq(x, kInf), high, x);
  y = hlo::Select(hlo::Eq(x, -kInf), low, y);
  return hlo::Select(hlo::IsNan(x), Replacement(c, "nan", 0.0, x), y);
}

Outcome NanToNum(Context& c) {
  const Value x = c.Tensor("self");
  if (IsIntegral(x)) return x;
  const double largest = LargestFinite(x.dtype());
  if (IsReal(x)) return RealNanToNum(c, x, largest);
  return hlo::Complex(RealNanToNum(c, hlo::Real(x), largest),
                      RealNanToNum(c, hlo::Imag(x), largest));
}

Outcome Logit(Context& c) {
  const DType type = FloatTypeFor(c, c.TensorType("self").dtype);
  Value x = c.TensorAs("self", ComputeType(type));
  if (c.Has("eps")) {
    const Value eps = c.Scalar("eps", x.dtype());
    const Value low = Like(eps, x);
    const Value high = Like(1.0 - eps, x);
    x = hlo::Select(hlo::Lt(x, low), low, hlo::Select(hlo::Gt(x, high), high, x));
  }
  return hlo::Convert(hlo::Log(x / (1.0 - x)), type);
}

Outcome LogitBackward(Context& c) {
  const DType type = c.Result().dtype;
  const Value grad = c.TensorAs("grad_output", ComputeType(type));
  const Value x = c.TensorAs("self", ComputeType(type));
  const Value slope = grad / (x * (1.0 - x));
  const Value zero = hlo::ZerosLike(x);
  if (!c.Has("eps")) {
    const Value outside = hlo::Or(hlo::Lt(x, 0.0), hlo::Gt(x, 1.0));
    return hlo::Convert(hlo::Select(outside, hlo::ConstantLike(x, kNan), slope), type);
  }
  const Value eps = c.Scalar("eps", x.dtype());
  const Value outside = hlo::Or(hlo::Lt(x, Like(eps, x)), hlo::Gt(x, Like(1.0 - eps, x)));
  return hlo::Convert(hlo::Select(outside, zero, slope), type);
}

Outcome PolygammaRow(Context& c) {
  const int64_t n = c.Int("n");
  const DType type = FloatTypeFor(c, c.TensorType("self").dtype);
  const Value x = c.TensorAs("self", ComputeType(type));
  if (n == 0) return hlo::Convert(lower::Digamma(x), type);
  if (n == 1) return hlo::Convert(Trigamma(x), type);
  const double sign = n % 2 == 0 ? -1.0 : 1.0;
  const double factorial = std::tgamma(static_cast<double>(n) + 1);
  const Value zeta = HurwitzZeta(hlo::ConstantLike(x, static_cast<double>(n) + 1), x);
  return hlo::Convert(zeta * (sign * factorial), type);
}

// The logarithm of the multivariate gamma function of order p.
Outcome Mvlgamma(Context& c) {
  const DType type = FloatTypeFor(c, c.TensorType("self").dtype);
  const Value x = c.TensorAs("self", ComputeType(type));
  const auto p = static_cast<double>(c.Int("p"));
  Value y = hlo::ConstantLike(x, p * (p - 1) / 4 * std::log(std::numbers::pi));
  for (int64_t j = 0; j < c.Int("p"); ++j) y = y + hlo::Lgamma(x - 0.5 * static_cast<double>(j));
  return hlo::Convert(y, type);
}

Outcome Frexp(Context& c) {
  const DType type = c.TensorType("self").dtype;
  const Value x = c.TensorAs("self", ComputeType(type));
  const bool wide = x.dtype() == DType::kF64;
  const DType bits_type = wide ? DType::kI64 : DType::kI32;
  const int mantissa_bits = wide ? 52 : 23;
  const double exponent_mask = wide ? 2047 : 255;
  const Value bits = hlo::BitcastConvert(x, bits_type);
  const Value shift = hlo::ConstantLike(bits, mantissa_bits);
  const Value mask = hlo::ConstantLike(bits, exponent_mask);
  const Value raw = hlo::And(hlo::ShiftRightLogical(bits, shift), mask);
  const Value exponent = raw - (wide ? 1022.0 : 126.0);
  const Value half = hlo::ShiftLeft(hlo::ConstantLike(bits, wide ? 1022 : 126), shift);
  const Value kept = hlo::And(bits, hlo::Not(hlo::ShiftLeft(mask, shift)));
  const Value mantissa = hlo::BitcastConvert(hlo::Or(kept, half), x.dtype());
  const Value plain = hlo::And(hlo::IsFinite(x), hlo::Ne(x, 0.0));
  return {hlo::Convert(hlo::Select(plain, mantissa, x), type),
          hlo::Convert(hlo::Select(plain, exponent, hlo::ZerosLike(exponent)), DType::kI32)};
}

constexpr Row kRows[] = {
    {"abs(Tensor self) -> Tensor", Abs},
    {"neg(Tensor self) -> Tensor", SameUnary<Neg>},
    {"sign(Tensor self) -> Tensor", SameUnary<SignOf>},
    {"sgn(Tensor self) -> Tensor", SameUnary<Sgn>},
    {"ceil(Tensor self) -> Tensor", SameUnary<Rounded<hlo::Ceil>>},
    {"floor(Tensor self) -> Tensor", SameUnary<Rounded<hlo::Floor>>},
    {"trunc(Tensor self) -> Tensor", SameUnary<Rounded<hlo::Trunc>>},
    {"round(Tensor self) -> Tensor", SameUnary<Rounded<hlo::RoundEven>>},
    {"round.decimals(Tensor self, *, int decimals) -> Tensor", RoundDecimals},
    {"frac(Tensor self) -> Tensor", SameUnary<Frac>},
    {"bitwise_not(Tensor self) -> Tensor", SameUnary<BitwiseNot>},
    {"_conj_physical(Tensor self) -> Tensor", SameUnary<hlo::Conj>},
    {"conj_physical.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", SameUnary<hlo::Conj>},

    {"isnan(Tensor self) -> Tensor", Predicate<hlo::IsNan>},
    {"isinf(Tensor self) -> Tensor", Predicate<hlo::IsInf>},
    {"isposinf(Tensor self) -> Tensor", Predicate<IsPosInf>},
    {"isneginf(Tensor self) -> Tensor", Predicate<IsNegInf>},
    {"signbit(Tensor self) -> Tensor", Predicate<SignBit>},
    {"logical_not(Tensor self) -> Tensor", Predicate<LogicalNot>},

    {"reciprocal(Tensor self) -> Tensor", FloatUnary<Reciprocal>},
    {"sqrt(Tensor self) -> Tensor", FloatUnary<hlo::Sqrt>},
    {"rsqrt(Tensor self) -> Tensor", FloatUnary<Rsqrt>},
    {"exp(Tensor self) -> Tensor", FloatUnary<hlo::Exp>},
    {"exp2(Tensor self) -> Tensor", FloatUnary<Exp2>},
    {"expm1(Tensor self) -> Tensor", FloatUnary<hlo::Expm1>},
    {"log(Tensor self) -> Tensor", FloatUnary<hlo::Log>},
    {"log2(Tensor self) -> Tensor", FloatUnary<Log2>},
    {"log10(Tensor self) -> Tensor", FloatUnary<Log10>},
    {"log1p(Tensor self) -> Tensor", FloatUnary<hlo::Log1p>},
    {"sin(Tensor self) -> Tensor", FloatUnary<hlo::Sin>},
    {"cos(Tensor self) -> Tensor", FloatUnary<hlo::Cos>},
    {"tan(Tensor self) -> Tensor", FloatUnary<hlo::Tan>},
    {"asin(Tensor self) -> Tensor", FloatUnary<hlo::Asin>},
    {"acos(Tensor self) -> Tensor", FloatUnary<hlo::Acos>},
    {"atan(Tensor self) -> Tensor", FloatUnary<hlo::Atan>},
    {"sinh(Tensor self) -> Tensor", FloatUnary<lower::Sinh>},
    {"cosh(Tensor self) -> Tensor", FloatUnary<lower::Cosh>},
    {"tanh(Tensor self) -> Tensor", FloatUnary<hlo::Tanh>},
    {"asinh(Tensor self) -> Tensor", FloatUnary<hlo::Asinh>},
    {"acosh(Tensor self) -> Tensor", FloatUnary<hlo::Acosh>},
    {"atanh(Tensor self) -> Tensor", FloatUnary<hlo::Atanh>},
    {"sigmoid(Tensor self) -> Tensor", FloatUnary<Sigmoid>},
    {"sinc(Tensor self) -> Tensor", FloatUnary<Sinc>},
    {"deg2rad(Tensor self) -> Tensor", FloatUnary<Deg2Rad>},
    {"rad2deg(Tensor self) -> Tensor", FloatUnary<Rad2Deg>},
    {"nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
     NanToNum},
    {"logit(Tensor self, float? eps=None) -> Tensor", Logit},
    {"logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor", LogitBackward},
    {"frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)", Frexp},

    {"erf(Tensor self) -> Tensor", FloatUnary<hlo::Erf>},
    {"erfc(Tensor self) -> Tensor", FloatUnary<hlo::Erfc>},
    {"erfinv(Tensor self) -> Tensor", FloatUnary<lower::ErfInv>},
    {"lgamma(Tensor self) -> Tensor", FloatUnary<hlo::Lgamma>},
    {"digamma(Tensor self) -> Tensor", FloatUnary<lower::Digamma>},
    {"polygamma(int n, Tensor self) -> Tensor", PolygammaRow},
    {"mvlgamma(Tensor self, int p) -> Tensor", Mvlgamma},
    {"i0(Tensor self) -> Tensor", FloatUnary<BesselI0>},
    {"special_i0e(Tensor self) -> Tensor", FloatUnary<BesselI0Scaled>},
    {"special_i1(Tensor self) -> Tensor", FloatUnary<BesselI1>},
    {"special_i1e(Tensor self) -> Tensor", FloatUnary<BesselI1Scaled>},
    {"special_entr(Tensor self) -> Tensor", FloatUnary<Entr>},
    {"special_erfcx(Tensor self) -> Tensor", FloatUnary<Erfcx>},
    {"special_log_ndtr(Tensor self) -> Tensor", FloatUnary<LogNdtr>},
    {"special_ndtri(Tensor self) -> Tensor", FloatUnary<Ndtri>},
    {"special_bessel_j0(Tensor self) -> Tensor", FloatUnary<BesselJ0>},
    {"special_bessel_j1(Tensor self) -> Tensor", FloatUnary<BesselJ1>},
    {"special_bessel_y0(Tensor self) -> Tensor", FloatUnary<BesselY0>},
    {"special_bessel_y1(Tensor self) -> Tensor", FloatUnary<BesselY1>},
    {"special_modified_bessel_i0(Tensor self) -> Tensor", FloatUnary<BesselI0>},
    {"special_modified_bessel_i1(Tensor self) -> Tensor", FloatUnary<BesselI1>},
    {"special_modified_bessel_k0(Tensor self) -> Tensor", FloatUnary<BesselK0>},
    {"special_modified_bessel_k1(Tensor self) -> Tensor", FloatUnary<BesselK1>},
    {"special_scaled_modified_bessel_k0(Tensor x) -> Tensor", FloatUnary<BesselK0Scaled, kX>},
    {"special_scaled_modified_bessel_k1(Tensor x) -> Tensor", FloatUnary<BesselK1Scaled, kX>},
    {"special_spherical_bessel_j0(Tensor x) -> Tensor", FloatUnary<SphericalBesselJ0, kX>},
    {"special_airy_ai(Tensor x) -> Tensor", FloatUnary<AiryAi, kX>},
};

}  // namespace

std::span<const Row> UnaryRows() { return kRows; }

}  // namespace tpjrt::lower
