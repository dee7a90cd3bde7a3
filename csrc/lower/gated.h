// Gated linear units: the first half of a dim times the sigmoid of the second.
#pragma once

#include "lower/row.h"

namespace tpjrt::lower {

Outcome Glu(Context& c);
Outcome GluBackward(Context& c);

}  // namespace tpjrt::lower
