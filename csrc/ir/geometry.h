// How a tensor lies on its storage: PyTorch's sizes, strides and offset (in elements of the tensor's
// dtype) over a buffer that is row-major in its physical shape.
#pragma once

#include <cstdint>
#include <vector>

#include "base/dtype.h"

namespace tpjrt::ir {

using Dims = std::vector<int64_t>;

struct Geometry {
  Dims sizes;
  Dims strides;
  // Known to be zero, or passed as a run-time input: `x[i]` for a thousand i is one program.
  bool zero_offset = true;
  // The view must be read and written element by element with computed positions: it does not decompose
  // into a box of some factoring of the storage (diagonals, overlaps, unfold). Decided by PlanView.
  bool irregular = false;

  bool operator==(const Geometry&) const = default;
};

}  // namespace tpjrt::ir
