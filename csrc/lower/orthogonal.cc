#include "lower/orthogonal.h"

#include <functional>
#include <numeric>
#include <vector>

#include "hlo/control.h"
#include "hlo/reduce.h"
#include "hlo/shape.h"

namespace tpjrt::lower {
namespace {

// P(k + 1) from k, P(k) and P(k - 1).
using Step = std::function<Value(Value k, Value current, Value previous)>;

Value Largest(Value x) {
  hlo::Dims dims(static_cast<size_t>(x.rank()));
  std::iota(dims.begin(), dims.end(), 0);
  return hlo::ReduceMax(x, dims);
}

// P(n) given P(0) = 1 and P(1) = first, for whole n.
Value Recur(Value n, Value first, const Step& step) {
  const Value one = hlo::ConstantLike(first, 1.0);
  const Value last = Largest(n);
  const std::vector<Value> state = hlo::While(
      std::vector<Value>{hlo::Constant(n.builder(), n.dtype(), 1), first, one},
      [&](hlo::Builder&, std::span<const Value> s) -> std::vector<Value> {
        return {hlo::Lt(s[0], last)};
      },
      [&](hlo::Builder&, std::span<const Value> s) -> std::vector<Value> {
        const Value k = hlo::BroadcastTo(s[0], n.dims());
        const Value more = hlo::Lt(k, n);
        return {s[0] + 1.0, hlo::Select(more, step(k, s[1], s[2]), s[1]),
                hlo::Select(more, s[1], s[2])};
      });
  const Value y = hlo::Select(hlo::Eq(n, 0.0), one, state[1]);
  return hlo::Select(hlo::Lt(n, 0.0), hlo::ZerosLike(y), y);
}

// The trigonometric form inside (-1, 1) spares long loops; `angle` is acos(x).
using Trigonometric = std::function<Value(Value n, Value angle)>;
Value Chebyshev(Value x, Value degree, Value first, int longest, const Trigonometric& form) {
  const Value n = hlo::Trunc(degree);
  const Value direct =
      hlo::And(hlo::Lt(hlo::Abs(x), 1.0), hlo::Gt(n, static_cast<double>(longest)));
  const Value short_n = hlo::Select(direct, hlo::ZerosLike(n), n);
  const Value y = Recur(short_n, first, [&](Value, Value current, Value previous) {
    return (x + x) * current - previous;
  });
  return hlo::Select(direct, form(n, hlo::Acos(x)), y);
}

Value Shifted(Value x) { return x + x - 1.0; }

}  // namespace

Value ChebyshevT(Value x, Value n) {
  return Chebyshev(x, n, x, 6, [](Value n, Value angle) { return hlo::Cos(n * angle); });
}

Value ChebyshevU(Value x, Value n) {
  return Chebyshev(x, n, x + x, 8, [](Value n, Value angle) {
    return hlo::Sin((n + 1.0) * angle) / hlo::Sin(angle);
  });
}

Value ChebyshevV(Value x, Value n) {
  return Chebyshev(x, n, x + x - 1.0, 8, [](Value n, Value angle) {
    return hlo::Cos((n + 0.5) * angle) / hlo::Cos(angle * 0.5);
  });
}

Value ChebyshevW(Value x, Value n) {
  return Chebyshev(x, n, x + x + 1.0, 8, [](Value n, Value angle) {
    return hlo::Sin((n + 0.5) * angle) / hlo::Sin(angle * 0.5);
  });
}

Value ShiftedChebyshevT(Value x, Value n) { return ChebyshevT(Shifted(x), n); }
Value ShiftedChebyshevU(Value x, Value n) { return ChebyshevU(Shifted(x), n); }
Value ShiftedChebyshevV(Value x, Value n) { return ChebyshevV(Shifted(x), n); }
Value ShiftedChebyshevW(Value x, Value n) { return ChebyshevW(Shifted(x), n); }

Value HermiteH(Value x, Value n) {
  return Recur(hlo::Trunc(n), x + x, [&](Value k, Value current, Value previous) {
    return (x + x) * current - (k + k) * previous;
  });
}

Value HermiteHe(Value x, Value n) {
  return Recur(hlo::Trunc(n), x,
               [&](Value k, Value current, Value previous) { return x * current - k * previous; });
}

Value Laguerre(Value x, Value n) {
  return Recur(hlo::Trunc(n), 1.0 - x, [&](Value k, Value current, Value previous) {
    return ((k + k + 1.0 - x) * current - k * previous) / (k + 1.0);
  });
}

Value Legendre(Value x, Value n) {
  return Recur(hlo::Trunc(n), x, [&](Value k, Value current, Value previous) {
    return ((k + k + 1.0) * x * current - k * previous) / (k + 1.0);
  });
}

}  // namespace tpjrt::lower
