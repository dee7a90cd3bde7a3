// Gather and scatter with their full dimension numbers, and the forms lowerings mostly need.
#pragma once

#include "hlo/builder.h"

namespace tpjrt::hlo {

struct GatherDims {
  Dims offset_dims, collapsed_slice_dims, start_index_map;
  int64_t index_vector_dim = 0;
};
// XLA clamps the start indices: callers mask what must not be read.
Value Gather(Value operand, Value indices, const GatherDims& dims, const Dims& slice_sizes,
             bool indices_are_sorted = false);

struct ScatterDims {
  Dims update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims;
  int64_t index_vector_dim = 0;
};
// `body` combines (old, update) -> new. Updates outside the operand are dropped.
Value Scatter(Value operand, Value indices, Value updates, const ScatterDims& dims,
              const Region& body, bool unique_indices = false);

enum class ScatterKind { kSet, kAdd, kMul, kMin, kMax };
Region ScatterBody(ScatterKind kind);

// x is rank 1: out[...] = x[indices[...]] (indices any rank, clamped).
Value Take(Value x, Value indices);
// Rows of dim `dim` picked by indices of any rank: dims before + indices.dims + dims after
// (clamped).
Value TakeDim(Value x, Value indices, int64_t dim);
// x is rank 1: x[indices[...]] op= updates[...] ; out-of-range positions are dropped.
Value Put(Value x, Value indices, Value updates, ScatterKind kind, bool unique_indices = false);

}  // namespace tpjrt::hlo
