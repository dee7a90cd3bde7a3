// The bits of a double rounded (half to even) to a float type, as PyTorch converts it.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace tpjrt::hlo {

uint64_t FloatBits(DType dtype, double value);  // dtype: a real floating type

}  // namespace tpjrt::hlo
