// Running sums over the last dim. x has rank 1 or more.
#pragma once

#include "lower/context.h"

namespace tpjrt::lower {

Value PrefixSum(Value x);           // up to and including each element
Value ExclusivePrefixSum(Value x);  // of what came before it

}  // namespace tpjrt::lower
