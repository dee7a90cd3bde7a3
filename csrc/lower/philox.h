// Counter-based random numbers: Philox 4x32-10 in 32-bit integer ops, equal on every plugin.
//
// The generator is one stream of 32-bit words: word g of the stream is word g % 4 of the Philox
// block with counter (g / 4, 0) under the seed as key. An op whose element i makes d draws reads
// the words offset + i * d ... : what a tensor receives depends on its elements' logical positions
// and not on how the op was split, padded or fused.
//
// Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#pragma once

#include "lower/context.h"

namespace tpjrt::lower {

// The next `count` words of the stream, u32 [count].
Value RandomWords(Context& c, int64_t count);

// `count` words of a stream of this op's own, for ops whose draws are not proportional to their
// results: Philox blocks with counter (0, 1, offset) never meet those of RandomWords. offset must
// advance by at least one.
Value PrivateRandomWords(Context& c, int64_t count);

// The four result words for counter words (c0, c1, c2, c3), each u32 of equal dims; key: rank-0
// u32.
std::vector<Value> PhiloxBlock(std::vector<Value> counter, Value key_low, Value key_high);

// Uniform multiples of 2^-bits from u32 words [n] (word pairs [2 n] for float64), as dtype (float32
// or float64). bits = 0: as many as the type holds exactly, 24 or 53.
Value UnitFromWords(Value words, DType dtype, int64_t bits = 0);  // in [0, 1)
Value OpenUnitFromWords(Value words, DType dtype);                // in (0, 1]
int64_t WordsPerUnit(DType dtype);                                // 1 or 2
// The bits of a float's significand, the hidden one included.
int64_t SignificandBits(DType dtype);

// Word pairs [2 n] as u64 [n].
Value PairWords(Value words);

}  // namespace tpjrt::lower
