// Negative log likelihood of class indices, for [N, C] or [C] and for [N, C, H, W]; rows in
// loss.cc.
//
// A class out of range (and not ignore_index) makes the loss NaN: it is never clamped.
#pragma once

#include "lower/row.h"

namespace tpjrt::lower {

Outcome NllLoss(Context& c);
Outcome NllLossBackward(Context& c);

}  // namespace tpjrt::lower
