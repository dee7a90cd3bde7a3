// Integer powers that wrap around as repeated multiplication does.
//
// The compilers' own integer power looks at the exponent's low bits only: 2**256 would be 1.
#pragma once

#include "hlo/value.h"

namespace tpjrt::lower {

// Elementwise; equal integer types. A negative exponent gives what PyTorch's CPU kernel gives: 1
// for 1,
// +-1 for -1, else 0.
hlo::Value IntegerPower(hlo::Value base, hlo::Value exponent);
// exponent >= 0, known when the program is built.
hlo::Value StaticIntegerPower(hlo::Value base, int64_t exponent);

}  // namespace tpjrt::lower
