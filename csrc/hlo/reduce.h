// Reductions, windows and sorting.
#pragma once

#include "hlo/builder.h"

namespace tpjrt::hlo {

// `body` combines (accumulators..., elements...) -> accumulators; `inits` are rank 0. Bodies here
// and in index.h see their arguments only: no values from outside, not even constants.
std::vector<Value> Reduce(std::span<const Value> inputs, std::span<const Value> inits,
                          const Dims& dims, const Region& body);
// The usual monoids; the reduced dims are dropped. Max/Min propagate NaN.
Value ReduceSum(Value x, const Dims& dims);
Value ReduceProd(Value x, const Dims& dims);
Value ReduceMax(Value x, const Dims& dims);
Value ReduceMin(Value x, const Dims& dims);
Value ReduceAnd(Value x, const Dims& dims);
Value ReduceOr(Value x, const Dims& dims);
// The same with kept dims of size 1.
Value KeepDims(Value reduced, const Dims& original, const Dims& dims);

struct Window {
  Dims sizes, strides, base_dilations, window_dilations, low, high;  // one entry per dim
  // All ones and zeros for a rank.
  static Window Unit(int64_t rank);
};
std::vector<Value> ReduceWindow(std::span<const Value> inputs, std::span<const Value> inits,
                                const Window& window, const Region& body);
Value ReduceWindowSum(Value x, const Window& window);
Value ReduceWindowMax(Value x, const Window& window);
// Adds each source element to the element its window's maximum came from (first on a tie).
Value SelectAndScatterMax(Value operand, Value source, const Window& window);

// Sorts all operands by `less`, a region of (a0, b0, a1, b1, ...) -> bool.
std::vector<Value> Sort(std::span<const Value> operands, int64_t dim, bool stable,
                        const Region& less);

}  // namespace tpjrt::hlo
