// Sliding windows laid out as columns, and their sums back: im2col, col2im, the gradient of unfold.
#pragma once

#include "lower/row.h"

namespace tpjrt::lower {

Outcome Im2Col(Context& c);
Outcome Col2Im(Context& c);
Outcome UnfoldBackward(Context& c);

}  // namespace tpjrt::lower
