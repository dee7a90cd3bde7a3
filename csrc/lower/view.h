// Reading and writing a strided view of a row-major buffer inside a program.
//
// A view that is a box of some factoring of the flat buffer (slices, steps, transposes, expands of
// them) becomes slice / reshape / transpose / broadcast; anything else becomes a gather or a
// scatter on computed positions. Offsets are run-time values where they are not zero.
#pragma once

#include <span>

#include "hlo/builder.h"
#include "ir/geometry.h"

namespace tpjrt::lower {

// Which form serves this view. `buffer_dims` is the physical shape counted in elements of the
// view's dtype; after a dtype view of another item size pass the flat shape. The view lies inside
// the buffer.
ir::Form PlanForm(std::span<const int64_t> buffer_dims, std::span<const int64_t> sizes,
                  std::span<const int64_t> strides, int64_t offset);

// The buffer's bits as elements of dtype: same dims when the item sizes are equal, else flat.
// bool counts as bytes 0/1, complex as (real, imaginary) pairs.
hlo::Value Reinterpret(hlo::Value buffer, DType dtype);
// The dims of that result.
hlo::Dims ReinterpretedDims(const hlo::Dims& buffer_dims, DType from, DType to);

// The view's elements, with its sizes. `offset` is rank 0 i64 and unused when geometry.zero_offset.
hlo::Value ReadView(hlo::Value buffer, const ir::Geometry& geometry, hlo::Value offset);
// The buffer with the view's elements replaced by `update` (dims = sizes, dtype = buffer's). A
// whole view never reads `buffer`, which may then be invalid: `buffer_type` says what to make.
hlo::Value WriteView(hlo::Value buffer, const hlo::Type& buffer_type, const ir::Geometry& geometry,
                     hlo::Value offset, hlo::Value update);

}  // namespace tpjrt::lower
