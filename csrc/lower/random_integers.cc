#include "lower/random_integers.h"

#include <limits>

#include "base/error.h"
#include "hlo/elementwise.h"
#include "hlo/shape.h"
#include "lower/draws.h"
#include "lower/philox.h"

namespace tpjrt::lower {
namespace {

Value WideConstant(hlo::Builder& b, uint64_t value, const Dims& dims = {}) {
  Value bits = hlo::ConstantInt(b, DType::kI64, static_cast<int64_t>(value), dims);
  return hlo::BitcastConvert(bits, DType::kU64);
}

// floor(bits * range / 2^64), from products of halves: no bias to speak of and no division. `range`
// has rank 0; 0 stands for 2^64.
Value BelowRange(Value bits, Value range) {
  hlo::Builder& b = bits.builder();
  const auto wide = [&](Value x) { return hlo::BroadcastTo(x, bits.dims()); };
  const Value half = wide(WideConstant(b, 32)), mask = wide(WideConstant(b, 0xFFFFFFFF));
  const Value limit = wide(range);
  const auto high = [&](Value x) { return hlo::ShiftRightLogical(x, half); };
  const auto low = [&](Value x) { return hlo::And(x, mask); };
  const Value middle = high(bits) * low(limit) + high(low(bits) * low(limit));
  const Value cross = low(bits) * high(limit) + low(middle);
  const Value product = high(bits) * high(limit) + high(middle) + high(cross);
  return hlo::Select(hlo::Eq(limit, wide(WideConstant(b, 0))), bits, product);
}

// Integers in [from, end), rank-0 numbers of type i64; their difference 0 stands for 2^64.
Outcome Integers(Context& c, Value from, Value end) {
  const Type& out = c.Result();
  const Value range = hlo::BitcastConvert(end - from, DType::kU64);
  Value x = hlo::BitcastConvert(BelowRange(DrawBits64(c, out.dims), range), DType::kI64);
  return hlo::Convert(x + hlo::BroadcastTo(from, out.dims), out.dtype);
}

Value Whole(Context& c, int64_t value) { return hlo::ConstantInt(c.builder(), DType::kI64, value); }
Value Whole(Context& c, std::string_view name) { return c.Scalar(name, DType::kI64); }

// The largest number random_() gives: the type's, or the last float whose predecessors are all
// exact.
uint64_t LargestRandom(DType dtype) {
  if (IsFloat(dtype)) return uint64_t{1} << SignificandBits(dtype);
  if (dtype == DType::kBool) return 1;
  const uint64_t bits = 8 * ItemSize(dtype) - (IsUnsigned(dtype) ? 0 : 1);
  return bits == 64 ? std::numeric_limits<uint64_t>::max() : (uint64_t{1} << bits) - 1;
}

Value EndOfType(Context& c) {
  return Whole(c, static_cast<int64_t>(LargestRandom(c.Result().dtype) + 1));
}

}  // namespace

Outcome Random(Context& c) { return Integers(c, Whole(c, 0), EndOfType(c)); }

Outcome RandomTo(Context& c) { return Integers(c, Whole(c, 0), Whole(c, "to")); }

Outcome RandomFrom(Context& c) {
  return Integers(c, Whole(c, "from"), c.Has("to") ? Whole(c, "to") : EndOfType(c));
}

Outcome RandomBelow(Context& c) {
  Require(c.Int("high") > 0,
          "random_ expects 'from' to be less than 'to', but got from=0 >= to=", c.Int("high"));
  return Integers(c, Whole(c, 0), Whole(c, "high"));
}

Outcome RandomBetween(Context& c) {
  const int64_t low = c.Int("low"), high = c.Int("high");
  Require(low < high, "random_ expects 'from' to be less than 'to', but got from=", low,
          " >= to=", high);
  return Integers(c, Whole(c, low), Whole(c, high));
}

}  // namespace tpjrt::lower
