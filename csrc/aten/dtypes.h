// torch's scalar types and the core's.
#pragma once

#include <c10/core/ScalarType.h>

#include "base/dtype.h"

namespace tpjrt::aten {

// Throws NotImplementedError for types no device has (quantized, bits, ...).
DType ToDType(c10::ScalarType type);
bool HasDType(c10::ScalarType type);
c10::ScalarType ToScalarType(DType dtype);

}  // namespace tpjrt::aten
