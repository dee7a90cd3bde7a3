// How a tensor lies on its storage: PyTorch's sizes, strides and offset (in elements of the
// tensor's dtype) over a buffer that is row-major in its physical shape.
#pragma once

#include <cstdint>
#include <vector>

#include "base/dtype.h"

namespace tpjrt::ir {

using Dims = std::vector<int64_t>;

// How the view's elements are found; chosen on the host for each geometry and offset
// (lower/view.h).
enum class Form : uint8_t {
  kWhole,     // every element of the buffer, in order: a reshape
  kPhysical,  // a box of the buffer's own dims (or a refinement of them)
  kFactored,  // a box of the flat buffer factored by the view's strides
  kGather,    // none of these (diagonals, overlaps): computed positions
};

struct Geometry {
  Dims sizes;
  Dims strides;
  Form form = Form::kWhole;
  // Known to be zero, or passed as a run-time input: `x[i]` for a thousand i is one program.
  bool zero_offset = true;

  bool operator==(const Geometry&) const = default;
};

}  // namespace tpjrt::ir
