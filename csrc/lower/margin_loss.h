// Multi-class and multi-label margin losses, forward and backward; their rows are in loss.cc.
#pragma once

#include "lower/row.h"

namespace tpjrt::lower {

Outcome MultiMarginLoss(Context& c);
Outcome MultiMarginLossBackward(Context& c);
Outcome MultilabelMarginLoss(Context& c);
Outcome MultilabelMarginLossBackward(Context& c);

}  // namespace tpjrt::lower
