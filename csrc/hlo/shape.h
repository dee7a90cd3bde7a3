// Shape ops: nothing here computes, it only moves or repeats elements.
#pragma once

#include "hlo/builder.h"

namespace tpjrt::hlo {

Value Reshape(Value x, const Dims& dims);  // same number of elements; identity if equal
Value Flatten(Value x);                    // to rank 1
Value Transpose(Value x, const Dims& permutation);
Value SwapDims(Value x, int64_t i, int64_t j);
// Explicit broadcast: dims[mapping[i]] is x's dim i (or x's dim i is 1).
Value BroadcastInDim(Value x, const Dims& dims, const Dims& mapping);
// NumPy broadcast: dims aligned at the right; size-1 dims expand.
Value BroadcastTo(Value x, const Dims& dims);
Dims BroadcastDims(const Dims& a, const Dims& b);  // throws when they do not broadcast
Value Iota(Builder& b, DType dtype, const Dims& dims, int64_t dim);
Value Slice(Value x, const Dims& starts, const Dims& limits, const Dims& strides);
Value SliceDim(Value x, int64_t dim, int64_t start, int64_t limit, int64_t stride = 1);
Value Concatenate(std::span<const Value> parts, int64_t dim);
Value Pad(Value x, Value fill, const Dims& low, const Dims& high,
          const Dims& interior);  // low/high may be < 0
Value Reverse(Value x, const Dims& dims);
Value Unsqueeze(Value x, int64_t dim);  // dim in [0, rank]
Value Squeeze(Value x, int64_t dim);    // drops a dim of size 1
// Stacks equal-typed values along a new dim.
Value Stack(std::span<const Value> parts, int64_t dim);
// Starts are rank-0 integers of one type; XLA clamps them into range.
Value DynamicSlice(Value x, std::span<const Value> starts, const Dims& sizes);
Value DynamicUpdateSlice(Value x, Value update, std::span<const Value> starts);

}  // namespace tpjrt::hlo
