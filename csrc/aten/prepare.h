// What a call needs on the host before it is keyed: index lists as the rows take them, the size of
// a range, bounds of random integers. Numbers that are run-time inputs of a program are checked
// here, at every call.
#pragma once

#include "aten/binding.h"

namespace tpjrt::aten {

// nullptr: nothing.
PrepareFn PrepareOf(const Binding& binding);

}  // namespace tpjrt::aten
