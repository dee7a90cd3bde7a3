// Maxima over windows with where they were, and the gradient that goes back there.
#pragma once

#include <span>
#include <vector>

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
// Windows of one size whose starts come from random samples. Defined for 2 and 3 spatial dims.
template <int spatial>
Outcome FractionalMaxPool(Context& c);

// The body of a reduction over (value, position) pairs: the larger value, then the smaller
// position; NaN wins, and the last of several.
std::vector<Value> LargerPair(hlo::Builder&, std::span<const Value> args);
// The pair that loses to every other, for values like x: its position is the largest.
std::vector<Value> LosingPair(Value x);

}  // namespace tpjrt::lower
