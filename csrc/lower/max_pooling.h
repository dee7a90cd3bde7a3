// Maxima over windows with where they were, and the gradient that goes back there.
#pragma once

#include "lower/row.h"

namespace tpjrt::lower {

// Defined for 2 and 3 spatial dims.
template <int spatial>
Outcome MaxPool(Context& c);
template <int spatial>
Outcome AdaptiveMaxPool(Context& c);
template <int spatial>
Outcome MaxPoolBackward(Context& c);  // adaptive or not: the indices say it all
template <int spatial>
Outcome MaxUnpool(Context& c);

}  // namespace tpjrt::lower
