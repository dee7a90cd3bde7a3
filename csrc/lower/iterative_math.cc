#include "lower/iterative_math.h"

#include <limits>
#include <numeric>
#include <vector>

#include "hlo/control.h"
#include "hlo/reduce.h"
#include "hlo/shape.h"

namespace tpjrt::lower {
namespace {

Value AnyTrue(Value x) {
  hlo::Dims dims(static_cast<size_t>(x.rank()));
  std::iota(dims.begin(), dims.end(), 0);
  return hlo::ReduceOr(x, dims);
}

double Epsilon(Value x) {
  return x.dtype() == DType::kF64 ? std::numeric_limits<double>::epsilon()
                                  : std::numeric_limits<float>::epsilon();
}

// x^a exp(-x) / gamma(a), the factor of both expansions.
Value Weight(Value a, Value x) { return hlo::Exp(a * hlo::Log(x) - x - hlo::Lgamma(a)); }

// Iterates until no element of the last state value (bool) is true, at most 2000 times.
std::vector<Value> Iterate(std::vector<Value> state, const hlo::Region& body) {
  hlo::Builder& b = state[0].builder();
  state.insert(state.begin(), hlo::ConstantInt(b, DType::kI32, 0));
  return hlo::While(
      state,
      [](hlo::Builder& b, std::span<const Value> s) -> std::vector<Value> {
        return {hlo::And(AnyTrue(s.back()), hlo::Lt(s[0], hlo::ConstantInt(b, DType::kI32, 2000)))};
      },
      [&body](hlo::Builder& b, std::span<const Value> s) {
        std::vector<Value> next = body(b, s);
        next.insert(next.begin(), s[0] + 1.0);
        return next;
      });
}

// P(a, x) for x <= a + 1: weight * sum of x^n / (a (a+1) ... (a+n)).
Value LowerSeries(Value a, Value x, Value active) {
  const double epsilon = Epsilon(a);
  const Value first = 1.0 / a;
  const std::vector<Value> result = Iterate(
      {a, first, first, active},
      [&](hlo::Builder&, std::span<const Value> s) -> std::vector<Value> {
        const Value n = s[1] + 1.0;
        const Value term = s[2] * (x / n);
        const Value sum = s[3] + hlo::Select(s[4], term, hlo::ZerosLike(term));
        return {n, term, sum, hlo::And(s[4], hlo::Gt(hlo::Abs(term), hlo::Abs(sum) * epsilon))};
      });
  return result[3] * Weight(a, x);
}

// Q(a, x) for x > a + 1: Lentz's evaluation of the continued fraction.
Value UpperFraction(Value a, Value x, Value active) {
  const double epsilon = Epsilon(a);
  const double tiny = 1e-30;
  const Value b0 = x + 1.0 - a;
  const Value d0 = 1.0 / b0;
  const Value c0 = hlo::ConstantLike(x, 1 / tiny);
  const auto guarded = [tiny](Value v) {
    return hlo::Select(hlo::Lt(hlo::Abs(v), tiny), hlo::ConstantLike(v, tiny), v);
  };
  const std::vector<Value> result = Iterate(
      {b0, c0, d0, d0, active}, [&](hlo::Builder&, std::span<const Value> s) -> std::vector<Value> {
        const Value i = hlo::BroadcastTo(hlo::Convert(s[0], x.dtype()) + 1.0, x.dims());
        const Value an = -i * (i - a);
        const Value b = s[1] + 2.0;
        const Value d = 1.0 / guarded(an * s[3] + b);
        const Value c = guarded(b + an / s[2]);
        const Value delta = d * c;
        const Value h = hlo::Select(s[5], s[4] * delta, s[4]);
        return {b, c, d, h, hlo::And(s[5], hlo::Gt(hlo::Abs(delta - 1.0), epsilon))};
      });
  return result[4] * Weight(a, x);
}

struct Halves {
  Value lower, upper;
};

Halves IncompleteGamma(Value a, Value x) {
  const double inf = std::numeric_limits<double>::infinity();
  const Value zero = hlo::ZerosLike(x);
  const Value one = hlo::ConstantLike(x, 1.0);
  const Value plain = hlo::And(hlo::And(hlo::Gt(a, 0.0), hlo::Gt(x, 0.0)),
                               hlo::And(hlo::IsFinite(a), hlo::IsFinite(x)));
  const Value by_series = hlo::Le(x, a + 1.0);
  // Elements outside a region's domain get harmless arguments.
  const Value low = hlo::And(plain, by_series);
  const Value high = hlo::And(plain, hlo::Not(by_series));
  const Value p = LowerSeries(hlo::Select(low, a, one), hlo::Select(low, x, one), low);
  const Value q = UpperFraction(hlo::Select(high, a, one), hlo::Select(high, x, one + 2.0), high);
  Halves h{hlo::Select(by_series, p, 1.0 - q), hlo::Select(by_series, 1.0 - p, q)};
  const auto set = [&h](Value where, Value lower, Value upper) {
    h.lower = hlo::Select(where, lower, h.lower);
    h.upper = hlo::Select(where, upper, h.upper);
  };
  set(hlo::Eq(x, 0.0), zero, one);
  set(hlo::Eq(a, 0.0), one, zero);
  set(hlo::Eq(a, inf), zero, one);
  set(hlo::Eq(x, inf), one, zero);
  const Value both = hlo::Or(hlo::And(hlo::Eq(a, 0.0), hlo::Eq(x, 0.0)),
                             hlo::And(hlo::Eq(a, inf), hlo::Eq(x, inf)));
  const Value invalid = hlo::Or(hlo::Or(hlo::Lt(a, 0.0), hlo::Lt(x, 0.0)),
                                hlo::Or(both, hlo::Or(hlo::IsNan(a), hlo::IsNan(x))));
  const Value nan = hlo::ConstantLike(x, std::numeric_limits<double>::quiet_NaN());
  set(invalid, nan, nan);
  return h;
}

}  // namespace

Value Gcd(Value a, Value b) {
  const Value x = hlo::Abs(a);
  const Value y = hlo::Abs(b);
  return hlo::While(
      std::vector<Value>{x, y},
      [](hlo::Builder&, std::span<const Value> s) -> std::vector<Value> {
        return {AnyTrue(hlo::Ne(s[1], 0.0))};
      },
      [](hlo::Builder&, std::span<const Value> s) -> std::vector<Value> {
        const Value done = hlo::Eq(s[1], 0.0);
        const Value divisor = hlo::Select(done, hlo::ConstantLike(s[1], 1), s[1]);
        return {hlo::Select(done, s[0], s[1]), hlo::Select(done, s[1], hlo::Rem(s[0], divisor))};
      })[0];
}

Value Lcm(Value a, Value b) {
  const Value g = Gcd(a, b);
  const Value none = hlo::Eq(g, 0.0);
  const Value divisor = hlo::Select(none, hlo::ConstantLike(g, 1), g);
  return hlo::Select(none, g, hlo::Abs(a / divisor * b));
}

// The compilers' own zeta sums a fixed number of terms, too few to leave the negative numbers.
Value HurwitzZeta(Value s, Value q) {
  const auto negative = [](Value x) { return hlo::And(hlo::Lt(x, 0.0), hlo::IsFinite(x)); };
  const std::vector<Value> state =
      Iterate({q, hlo::ZerosLike(q), negative(q)},
              [&](hlo::Builder&, std::span<const Value> i) -> std::vector<Value> {
                const Value term = hlo::Select(i[3], hlo::Pow(i[1], -s), hlo::ZerosLike(q));
                const Value next = hlo::Select(i[3], i[1] + 1.0, i[1]);
                return {next, i[2] + term, negative(next)};
              });
  const Value y = state[2] + hlo::Zeta(s, state[1]);
  const Value pole = hlo::ConstantLike(q, std::numeric_limits<double>::infinity());
  return hlo::Select(hlo::Eq(state[1], 0.0), pole, y);
}

Value IgammaLower(Value a, Value x) { return IncompleteGamma(a, x).lower; }
Value IgammaUpper(Value a, Value x) { return IncompleteGamma(a, x).upper; }

}  // namespace tpjrt::lower
