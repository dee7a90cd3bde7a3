#include "lower/integer_power.h"

#include <array>

#include "hlo/control.h"
#include "hlo/elementwise.h"
#include "hlo/reduce.h"

namespace tpjrt::lower {
namespace {

using hlo::Value;

Value One(Value like) { return hlo::ConstantInt(like.builder(), like.dtype(), 1, like.dims()); }

Value IsOdd(Value x) { return hlo::Ne(hlo::And(x, One(x)), hlo::ZerosLike(x)); }

Value AnyPositive(Value x) {
  const Value flat = hlo::Gt(x, hlo::ZerosLike(x));
  hlo::Dims all;
  for (int64_t d = 0; d < flat.rank(); ++d) all.push_back(d);
  return hlo::ReduceOr(flat, all);
}

}  // namespace

Value IntegerPower(Value base, Value exponent) {
  const Value zero = hlo::ZerosLike(exponent);
  const std::array init{One(base), base, hlo::Max(exponent, zero)};  // result, square, rest
  const auto cond = [](hlo::Builder&, std::span<const Value> state) {
    return std::vector<Value>{AnyPositive(state[2])};
  };
  const auto step = [](hlo::Builder&, std::span<const Value> state) {
    const Value result = hlo::Select(IsOdd(state[2]), state[0] * state[1], state[0]);
    return std::vector<Value>{result, state[1] * state[1],
                              hlo::ShiftRightLogical(state[2], One(state[2]))};
  };
  const Value power = hlo::While(init, cond, step)[0];
  if (IsUnsigned(base.dtype())) return power;
  const Value one = One(base);
  const Value sign = hlo::Select(IsOdd(exponent), -one, one);
  Value inverse = hlo::Select(hlo::Eq(base, -one), sign, hlo::ZerosLike(base));
  inverse = hlo::Select(hlo::Eq(base, one), one, inverse);
  return hlo::Select(hlo::Lt(exponent, zero), inverse, power);
}

Value StaticIntegerPower(Value base, int64_t exponent) {
  Value result = One(base);
  for (Value square = base; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = result * square;
    if (exponent > 1) square = square * square;
  }
  return result;
}

}  // namespace tpjrt::lower
