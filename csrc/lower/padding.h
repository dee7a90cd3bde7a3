// Pads: constant, mirrored and repeated edges. PyTorch lists them from the last dim: (before,
// after).
#pragma once

#include "lower/row.h"

namespace tpjrt::lower {

Outcome ConstantPad(Context& c);
Outcome ReflectionPad(Context& c);
Outcome ReflectionPadBackward(Context& c);
Outcome ReplicationPad(Context& c);
Outcome ReplicationPadBackward(Context& c);

}  // namespace tpjrt::lower
