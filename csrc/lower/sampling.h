// Random choices: permutations and draws from categories.
#pragma once

#include "lower/row.h"

namespace tpjrt::lower {

Outcome RandomPermutation(Context& c);
Outcome Multinomial(Context& c);

}  // namespace tpjrt::lower
