// Inclusive scans by an associative operation, from pads, slices and reshapes only.
//
// Short dims take log2(n) doubling steps; long ones are scanned in blocks whose totals are scanned
// in turn. No reduce_window: some plugins fail a CHECK on the shapes that a whole-dim window needs.
#pragma once

#include <functional>
#include <vector>

#include "lower/context.h"

namespace tpjrt::lower {

// (left, right) -> combined, elementwise over tuples of equal dims; must be associative.
using Combine =
    std::function<std::vector<Value>(const std::vector<Value>&, const std::vector<Value>&)>;

// `identities` are rank 0: combining one on the left changes nothing. xs have equal dims; rank 0
// and empty dims are returned as they are.
std::vector<Value> InclusiveScan(const std::vector<Value>& xs, const std::vector<Value>& identities,
                                 int64_t dim, const Combine& combine);

}  // namespace tpjrt::lower
