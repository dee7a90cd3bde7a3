#include "lower/random_integers.h"

#include <limits>

#include "base/error.h"
#include "hlo/elementwise.h"
#include "lower/draws.h"
#include "lower/philox.h"

namespace tpjrt::lower {
namespace {

Value WideConstant(hlo::Builder& b, uint64_t value, const Dims& dims) {
  Value bits = hlo::ConstantInt(b, DType::kI64, static_cast<int64_t>(value), dims);
  return hlo::BitcastConvert(bits, DType::kU64);
}

Value BelowRange(Value bits, uint64_t range) {
  hlo::Builder& b = bits.builder();
  if (range == 0) return bits;
  Value limit = WideConstant(b, range, bits.dims());
  if (range > (uint64_t{1} << 32)) return hlo::Rem(bits, limit);
  // floor(bits * range / 2^64), by halves of bits: no bias to speak of and no division.
  Value shift = WideConstant(b, 32, bits.dims());
  Value high = hlo::ShiftRightLogical(bits, shift);
  Value low = hlo::And(bits, WideConstant(b, 0xFFFFFFFF, bits.dims()));
  return hlo::ShiftRightLogical(high * limit + hlo::ShiftRightLogical(low * limit, shift), shift);
}

// Integers in [from, from + range); range 0 stands for 2^64.
Outcome Integers(Context& c, int64_t from, uint64_t range) {
  const Type& out = c.Result();
  Value x = hlo::BitcastConvert(BelowRange(DrawBits64(c, out.dims), range), DType::kI64);
  x = x + hlo::ConstantInt(c.builder(), DType::kI64, from, out.dims);
  return hlo::Convert(x, out.dtype);
}

// The largest number random_() gives: the type's, or the last float whose predecessors are all
// exact.
uint64_t LargestRandom(DType dtype) {
  if (IsFloat(dtype)) return uint64_t{1} << SignificandBits(dtype);
  if (dtype == DType::kBool) return 1;
  const uint64_t bits = 8 * ItemSize(dtype) - (IsUnsigned(dtype) ? 0 : 1);
  return bits == 64 ? std::numeric_limits<uint64_t>::max() : (uint64_t{1} << bits) - 1;
}

}  // namespace

Outcome Random(Context& c) { return Integers(c, 0, LargestRandom(c.Result().dtype) + 1); }

Outcome RandomTo(Context& c) {
  const int64_t to = c.Int("to");
  Require(to > 0, "random_ expects 'from' to be less than 'to', but got from=0 >= to=", to);
  return Integers(c, 0, static_cast<uint64_t>(to));
}

Outcome RandomBelow(Context& c) {
  Require(c.Int("high") > 0,
          "random_ expects 'from' to be less than 'to', but got from=0 >= to=", c.Int("high"));
  return Integers(c, 0, static_cast<uint64_t>(c.Int("high")));
}

Outcome RandomBetween(Context& c) {
  const int64_t low = c.Int("low"), high = c.Int("high");
  Require(low < high, "random_ expects 'from' to be less than 'to', but got from=", low,
          " >= to=", high);
  return Integers(c, low, static_cast<uint64_t>(high) - static_cast<uint64_t>(low));
}

Outcome RandomFrom(Context& c) {
  const int64_t from = c.Int("from");
  Require(!c.Has("to") || from < c.Int("to"),
          "random_ expects 'from' to be less than 'to', but got from=", from);
  const uint64_t end =
      c.Has("to") ? static_cast<uint64_t>(c.Int("to")) : LargestRandom(c.Result().dtype) + 1;
  return Integers(c, from, end - static_cast<uint64_t>(from));
}

}  // namespace tpjrt::lower
