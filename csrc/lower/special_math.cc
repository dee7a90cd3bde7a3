#include "lower/special_math.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "base/error.h"

namespace tpjrt::lower {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kSqrtPi = 1.7724538509055160273;

DType BitsType(DType dtype) {
  switch (ItemSize(dtype)) {
    case 1:
      return DType::kI8;
    case 2:
      return DType::kI16;
    case 4:
      return DType::kI32;
    default:
      return DType::kI64;
  }
}

// 2^n from its bits, for whole n inside the exponent's normal range.
Value PowerOfTwo(Value n) {
  const bool wide = n.dtype() == DType::kF64;
  const Value biased = hlo::Convert(n, BitsType(n.dtype())) + (wide ? 1023.0 : 127.0);
  const Value bits = hlo::ShiftLeft(biased, hlo::ConstantLike(biased, wide ? 52 : 23));
  return hlo::BitcastConvert(bits, n.dtype());
}

Value ClampTo(Value x, double low, double high) {
  return hlo::Clamp(hlo::Constant(x.builder(), x.dtype(), low), x,
                    hlo::Constant(x.builder(), x.dtype(), high));
}

// x as a sum of a short number, whose square is exact, and a rest.
struct Split {
  Value head, tail;
};
Split SplitMantissa(Value x) {
  const bool wide = x.dtype() == DType::kF64;
  const Value head = hlo::ReducePrecision(x, wide ? 11 : 8, wide ? 25 : 11);
  return {head, x - head};
}

}  // namespace

Value ScaleByPowerOfTwo(Value x, Value n) {
  const double limit = x.dtype() == DType::kF64 ? 2040 : 250;
  n = ClampTo(n, -limit, limit);
  const Value half = hlo::Floor(n * 0.5);
  return x * PowerOfTwo(half) * PowerOfTwo(n - half);
}

Value Exp2(Value x) {
  if (IsComplex(x.dtype())) return hlo::Exp(x * std::numbers::ln2);
  const double limit = x.dtype() == DType::kF64 ? 1200 : 200;
  const Value clamped = ClampTo(x, -limit, limit);
  const Value whole = hlo::RoundEven(clamped);
  return ScaleByPowerOfTwo(hlo::Exp((clamped - whole) * std::numbers::ln2), whole);
}

Value ExpSquare(Value x) {
  const Split s = SplitMantissa(x);
  const Value exact = hlo::Exp(s.head * s.head) * hlo::Exp(s.tail * (x + s.head));
  return hlo::Select(hlo::Gt(hlo::Abs(x), 30.0), hlo::ConstantLike(x, kInf), exact);
}

Value ExpMinusSquare(Value x) {
  const Split s = SplitMantissa(x);
  const Value exact = hlo::Exp(-(s.head * s.head)) * hlo::Exp(-(s.tail * (x + s.head)));
  return hlo::Select(hlo::Gt(hlo::Abs(x), 40.0), hlo::ZerosLike(x), exact);
}

Value Sinh(Value x) {
  if (IsComplex(x.dtype())) return hlo::Sinh(x);
  // Near zero from expm1; far out from the square of exp(x / 2), which overflows with the result.
  const Value m = hlo::Abs(x);
  const Value e = hlo::Expm1(m);
  const Value small = (e + e / (e + 1.0)) * 0.5;
  const Value root = hlo::Exp(m * 0.5);
  const Value large = (root * 0.5) * root;
  return CopySign(hlo::Select(hlo::Gt(m, 20.0), large, small), x);
}

Value Cosh(Value x) {
  if (IsComplex(x.dtype())) return hlo::Cosh(x);
  const Value root = hlo::Exp(hlo::Abs(x) * 0.5);
  return (root * 0.5) * root + 0.5 / root / root;
}

Value Sigmoid(Value x) { return 1.0 / (1.0 + hlo::Exp(-x)); }

Value Sinc(Value x) {
  const Value y = x * std::numbers::pi;
  return hlo::Select(hlo::Eq(x, 0.0), hlo::ConstantLike(x, 1.0), hlo::Sin(y) / y);
}

Value ErfInv(Value x) {
  // One Newton step in the tail, on 1 - |x|, which is exact there.
  const Value y = hlo::ErfInv(x);
  const Value m = hlo::Abs(y);
  const Value rest = 1.0 - hlo::Abs(x);
  const Value step = (hlo::Erfc(m) - rest) * (kSqrtPi / 2) * ExpSquare(m);
  const Value in_tail = hlo::And(hlo::Gt(hlo::Abs(x), 0.5), hlo::Lt(hlo::Abs(x), 1.0));
  return hlo::Select(in_tail, CopySign(m + step, x), y);
}

Value LogNdtr(Value x) {
  const Value scaled = x * std::numbers::sqrt2 * 0.5;
  const Value tail = hlo::Log(Erfcx(-scaled) * 0.5) - scaled * scaled;
  const Value body = hlo::Log1p(hlo::Erfc(scaled) * -0.5);
  return hlo::Select(hlo::Lt(x, -1.0), tail, body);
}

Value Ndtri(Value p) {
  const Value upper = hlo::Gt(p, 0.5);
  const Value q = hlo::Select(upper, 1.0 - p, p);
  const Value centre = lower::ErfInv(q * 2.0 - 1.0) * std::numbers::sqrt2;
  // In the tail Newton's method on log(cdf(x)) - log(q), which is concave: it cannot overshoot
  // twice.
  const Value log_q = hlo::Log(q);
  const Value t = log_q * -2.0;
  Value x =
      -hlo::Sqrt(hlo::Max(t - hlo::Log(t * (2 * std::numbers::pi)), hlo::ConstantLike(p, 0.5)));
  for (int i = 0; i < 4; ++i) {
    const Value slope = std::sqrt(2 / std::numbers::pi) / Erfcx(x * (-std::numbers::sqrt2 / 2));
    x = x - (LogNdtr(x) - log_q) / slope;
  }
  x = hlo::Select(hlo::Gt(q, 0.1), centre, x);
  x = hlo::Select(hlo::Eq(q, 0.0), hlo::ConstantLike(p, -kInf), x);
  x = hlo::Select(upper, -x, x);
  const Value outside = hlo::Or(hlo::Lt(p, 0.0), hlo::Gt(p, 1.0));
  return hlo::Select(outside, hlo::ConstantLike(p, kNan), x);
}

Value Digamma(Value x) {
  const Value pole = CopySign(hlo::ConstantLike(x, -kInf), -x);
  const Value whole = hlo::And(hlo::Lt(x, 0.0), hlo::Eq(x, hlo::Floor(x)));
  const Value y = hlo::Select(whole, hlo::ConstantLike(x, kNan), hlo::Digamma(x));
  return hlo::Select(hlo::Eq(x, 0.0), pole, y);
}

Value Trigamma(Value x) {
  // Reflected left of 1/2. The sine's argument is rounded as PyTorch's CPU kernel rounds it, which
  // costs digits far from zero: its values are the reference.
  const Value left = hlo::Lt(x, 0.5);
  const Value y = hlo::Zeta(hlo::ConstantLike(x, 2.0), hlo::Select(left, 1.0 - x, x));
  const Value sine = hlo::Sin(x * std::numbers::pi);
  const double pi_squared = std::numbers::pi * std::numbers::pi;
  return hlo::Select(left, pi_squared / (sine * sine) - y, y);
}

Value Entr(Value x) {
  const Value y = -x * hlo::Log(x);
  const Value zero = hlo::Select(hlo::Eq(x, 0.0), hlo::ZerosLike(x), y);
  return hlo::Select(hlo::Lt(x, 0.0), hlo::ConstantLike(x, -kInf), zero);
}

Value SignBit(Value x) {
  if (x.dtype() == DType::kBool) return hlo::ZerosLike(x);
  if (!IsFloat(x.dtype())) return hlo::Lt(x, 0.0);
  return hlo::Lt(hlo::BitcastConvert(x, BitsType(x.dtype())), 0.0);
}

Value CopySign(Value magnitude, Value sign) {
  const Value m = hlo::Abs(magnitude);
  return hlo::Select(SignBit(sign), -m, m);
}

Value Hypot(Value a, Value b) {
  const Value x = hlo::Abs(a);
  const Value y = hlo::Abs(b);
  const Value high = hlo::Max(x, y);
  const Value ratio = hlo::Min(x, y) / high;
  const Value scaled = high * hlo::Sqrt(ratio * ratio + 1.0);
  const Value length = hlo::Select(hlo::Eq(high, 0.0), high, scaled);
  return hlo::Select(hlo::Or(hlo::IsInf(x), hlo::IsInf(y)), hlo::ConstantLike(a, kInf), length);
}

Value LogAddExp(Value a, Value b) {
  const Value sum = hlo::Max(a, b) + hlo::Log1p(hlo::Exp(-hlo::Abs(a - b)));
  return hlo::Select(hlo::And(hlo::IsInf(a), hlo::Eq(a, b)), a, sum);
}

Value LogAddExp2(Value a, Value b) {
  const Value sum = hlo::Max(a, b) + hlo::Log1p(Exp2(-hlo::Abs(a - b))) * std::numbers::log2e;
  return hlo::Select(hlo::And(hlo::IsInf(a), hlo::Eq(a, b)), a, sum);
}

Value Softplus(Value x) {
  return hlo::Max(x, hlo::ZerosLike(x)) + hlo::Log1p(hlo::Exp(-hlo::Abs(x)));
}

}  // namespace tpjrt::lower
