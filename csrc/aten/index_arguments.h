// Index lists as PyTorch takes them: bool masks become the positions of their true elements (one
// read of the count each), index tensors on the CPU come to the device.
#pragma once

#include <ATen/core/stack.h>

#include "aten/binding.h"

namespace tpjrt::aten {

// For bindings with an index_argument.
void PrepareIndexArguments(const Binding& binding, c10::Stack* stack);

}  // namespace tpjrt::aten
