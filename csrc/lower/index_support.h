// Index arithmetic shared by the families that read and write at computed positions.
//
// The device cannot raise: a read outside the tensor gives NaN (0 for types without NaN), a write
// outside is dropped, and the program reports a fault that the host raises as IndexError at its
// next wait. Never a clamp, so every read through hlo::Gather is masked here.
#pragma once

#include <span>
#include <vector>

#include "lower/context.h"

namespace tpjrt::lower {

enum class Negative { kWraps, kOutOfRange };

struct CheckedIndex {
  Value index;  // i32 where the size allows, else i64; out-of-range entries hold `size`
  Value valid;  // bool, index's dims
};
// Checks indices of any integer type against a dim of `size` elements; bad ones are a fault of the
// program.
CheckedIndex CheckIndex(Value index, int64_t size, Negative negative);

// Reports the largest index where `bad` holds (bool, index's dims) as a fault.
void ReportBadIndices(Value index, Value bad, int64_t size);

// What a bad read gives: NaN for floats and complex, 0 for integers and bool.
Value BadRead(hlo::Builder& b, DType dtype, const Dims& dims);

// x with rows of `dim` picked: dims before + index dims + dims after.
Value ReadRows(Value x, Value index, int64_t dim, Negative negative);
// Flat read: x's elements in row-major order at index, shaped like index.
Value ReadFlat(Value x, Value index, Negative negative);

// The flat (row-major) positions in `dims` that torch.gather/scatter address: coordinates are those
// of `index` itself, except along `dim`. Entries outside are `NumElements(dims)`, which scatters
// drop.
CheckedIndex AlongDim(const Dims& dims, int64_t dim, Value index);

// A plan for self[indices...] with PyTorch's rules for advanced indexing.
struct AdvancedIndex {
  Dims indexed;      // dims of self that have an index, ascending
  Value start;       // [broadcast index dims..., number of indexed dims]
  Value valid;       // bool [broadcast index dims...]
  Dims result;       // dims of self[indices...]
  Dims index_dims;   // the broadcast index dims
  int64_t position;  // where index_dims start in result
  Dims window_dims;  // positions in result of the dims that are not indexed
};
AdvancedIndex PlanAdvancedIndex(const Dims& self, std::span<const Value> indices);
// True when an index is a mask: those are turned into integers before the lowering.
bool HasMask(std::span<const Value> indices);

Value ReadAdvanced(Value self, const AdvancedIndex& plan);

}  // namespace tpjrt::lower
