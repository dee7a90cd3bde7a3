// Reading an image at computed positions (torch.nn.functional.grid_sample) in 2 or 3 spatial dims.
#pragma once

#include "lower/row.h"

namespace tpjrt::lower {

Outcome GridSample(Context& c);
Outcome GridSampleBackward(Context& c);

}  // namespace tpjrt::lower
