// random_ and its ranges: integers of equal probability.
#pragma once

#include "lower/row.h"

namespace tpjrt::lower {

Outcome Random(Context& c);         // from 0 to the largest the type holds (floats: holds exactly)
Outcome RandomTo(Context& c);       // from 0, below `to`
Outcome RandomFrom(Context& c);     // from `from`, below `to` or to the largest
Outcome RandomBelow(Context& c);    // randint: from 0, below `high`
Outcome RandomBetween(Context& c);  // randint.low: from `low`, below `high`

}  // namespace tpjrt::lower
