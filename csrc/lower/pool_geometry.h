// The windows of a pooling op, one per spatial dim, from its list arguments.
#pragma once

#include <string_view>

#include "lower/context.h"

namespace tpjrt::lower {

// An int[n] argument: one number stands for all, an absent or empty list for `fallback`.
Dims SpatialList(Context& c, std::string_view name, int64_t spatial, const Dims& fallback);

// Window o of `outputs` over `inputs` elements in adaptive pooling.
int64_t AdaptiveStart(int64_t o, int64_t inputs, int64_t outputs);
int64_t AdaptiveEnd(int64_t o, int64_t inputs, int64_t outputs);

}  // namespace tpjrt::lower
