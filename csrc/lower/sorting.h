// Sorting in PyTorch's order: NaN counts as the largest value, -0 equals 0, ties keep their order.
#pragma once

#include "lower/context.h"

namespace tpjrt::lower {

struct Sorted {
  Value values;
  Value indices;  // i32 (i64 for dims past its range): where each value was
};

// Any rank (a rank-0 x is its own sorting); empty x is returned as it is.
Sorted SortAlong(Value x, int64_t dim, bool descending);

}  // namespace tpjrt::lower
