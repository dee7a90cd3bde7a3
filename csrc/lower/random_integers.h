// random_ and its ranges: integers of equal probability.
#pragma once

#include "lower/row.h"

namespace tpjrt::lower {

Outcome Random(Context& c);      // from 0 to the largest the type holds (floats: holds exactly)
Outcome RandomTo(Context& c);    // from 0, below `to`
Outcome RandomFrom(Context& c);  // from `from`, below `to` or to the largest

}  // namespace tpjrt::lower
