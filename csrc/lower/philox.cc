#include "lower/philox.h"

#include <cmath>

#include "hlo/elementwise.h"
#include "hlo/shape.h"

namespace tpjrt::lower {
namespace {

constexpr int64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
constexpr int64_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;

Value Word(Value like, int64_t value) {
  return hlo::ConstantInt(like.builder(), DType::kU32, value, like.dims());
}
Value Low16(Value x) { return hlo::And(x, Word(x, 0xFFFF)); }
Value High16(Value x) { return hlo::ShiftRightLogical(x, Word(x, 16)); }

// The high word of x * multiplier, by halves: no 64-bit type is needed.
Value MultiplyHigh(Value x, int64_t multiplier) {
  Value low = Low16(x), high = High16(x);
  Value m_low = Word(x, multiplier & 0xFFFF), m_high = Word(x, multiplier >> 16);
  Value middle = high * m_low + High16(low * m_low);  // < 2^32
  Value carry = Low16(middle) + low * m_high;         // < 2^32
  return high * m_high + High16(middle) + High16(carry);
}

Value HighWord(Value wide) {
  Value shift = hlo::ConstantInt(wide.builder(), DType::kU64, 32, wide.dims());
  return hlo::Convert(hlo::ShiftRightLogical(wide, shift), DType::kU32);
}
Value LowWord(Value wide) {
  Value mask = hlo::ConstantInt(wide.builder(), DType::kU64, 0xFFFFFFFF, wide.dims());
  return hlo::Convert(hlo::And(wide, mask), DType::kU32);
}

Value Spread(Value scalar, const Dims& dims) { return hlo::BroadcastInDim(scalar, dims, {}); }

// Blocks side by side, [4 * blocks]: word w of block i at 4 i + w.
Value Interleave(const std::vector<Value>& words) { return hlo::Flatten(hlo::Stack(words, 1)); }

// first + 0, 1, ... as (low, high) words.
std::pair<Value, Value> Counters(Value first, int64_t blocks) {
  Value step = hlo::Iota(first.builder(), DType::kU32, {blocks}, 0);
  Value base = Spread(LowWord(first), {blocks});
  Value low = base + step;
  Value carry = hlo::Convert(hlo::Lt(low, base), DType::kU32);
  return {low, Spread(HighWord(first), {blocks}) + carry};
}

// value as a number times 2^-bits, for the top `bits` bits of each word.
Value TopBits(Value words, int64_t bits) {
  Value shift = hlo::ConstantInt(words.builder(), words.dtype(), 8 * ItemSize(words.dtype()) - bits,
                                 words.dims());
  return hlo::ShiftRightLogical(words, shift);
}

}  // namespace

std::vector<Value> PhiloxBlock(std::vector<Value> counter, Value key_low, Value key_high) {
  const Dims dims = counter[0].dims();
  Value key0 = Spread(key_low, dims), key1 = Spread(key_high, dims);
  for (int round = 0; round < 10; ++round) {
    if (round > 0) {
      key0 = key0 + Word(key0, kWeyl0);
      key1 = key1 + Word(key1, kWeyl1);
    }
    Value high0 = MultiplyHigh(counter[0], kMultiplier0);
    Value low0 = counter[0] * Word(counter[0], kMultiplier0);
    Value high1 = MultiplyHigh(counter[2], kMultiplier1);
    Value low1 = counter[2] * Word(counter[2], kMultiplier1);
    counter = {hlo::Xor(hlo::Xor(high1, counter[1]), key0), low1,
               hlo::Xor(hlo::Xor(high0, counter[3]), key1), low0};
  }
  return counter;
}

Value RandomWords(Context& c, int64_t count) {
  hlo::Builder& b = c.builder();
  Value offset = c.Offset(), seed = c.Seed();
  Value four = hlo::ConstantInt(b, DType::kU64, 4);
  // The first word may lie inside a block: one block more, and the words are cut out.
  const int64_t blocks = (count + 3) / 4 + 1;
  auto [low, high] = Counters(offset / four, blocks);
  Value zero = Word(low, 0);
  Value words = Interleave(PhiloxBlock({low, high, zero, zero}, LowWord(seed), HighWord(seed)));
  const Value start[] = {hlo::Convert(hlo::Rem(offset, four), DType::kI32)};
  return hlo::DynamicSlice(words, start, {count});
}

Value PrivateRandomWords(Context& c, int64_t count) {
  hlo::Builder& b = c.builder();
  Value offset = c.Offset(), seed = c.Seed();
  const int64_t blocks = (count + 3) / 4;
  auto [low, high] = Counters(hlo::ConstantInt(b, DType::kU64, 0), blocks);
  // Word 1 of the counter is the mark: RandomWords would need 2^33 draws before it meets one of
  // these with the same words 2 and 3, which there are zero; offset + 1 never is.
  Value mark = offset + hlo::ConstantInt(b, DType::kU64, 1);
  Value words = Interleave(
      PhiloxBlock({low, high, Spread(LowWord(mark), {blocks}), Spread(HighWord(mark), {blocks})},
                  LowWord(seed), HighWord(seed)));
  return hlo::SliceDim(words, 0, 0, count);
}

Value PairWords(Value words) {
  Value pairs = hlo::Reshape(words, {words.num_elements() / 2, 2});
  Value high = hlo::Convert(hlo::Squeeze(hlo::SliceDim(pairs, 1, 0, 1), 1), DType::kU64);
  Value low = hlo::Convert(hlo::Squeeze(hlo::SliceDim(pairs, 1, 1, 2), 1), DType::kU64);
  Value shift = hlo::ConstantInt(words.builder(), DType::kU64, 32, high.dims());
  return hlo::Or(hlo::ShiftLeft(high, shift), low);
}

int64_t WordsPerUnit(DType dtype) { return dtype == DType::kF64 ? 2 : 1; }

int64_t SignificandBits(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 53;
    case DType::kF16:
      return 11;
    case DType::kBF16:
      return 8;
    default:
      return 24;
  }
}

Value UnitFromWords(Value words, DType dtype, int64_t bits) {
  if (bits == 0) bits = SignificandBits(dtype);
  Value numbers = dtype == DType::kF64 ? PairWords(words) : words;
  return hlo::Convert(TopBits(numbers, bits), dtype) * std::ldexp(1.0, static_cast<int>(-bits));
}

Value OpenUnitFromWords(Value words, DType dtype) {
  const int bits = static_cast<int>(SignificandBits(dtype));
  return UnitFromWords(words, dtype) + std::ldexp(1.0, -bits);
}

}  // namespace tpjrt::lower
