// Python numbers and CPU scalars as bits of a device dtype.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Scalar.h>

#include "exec/scalar_cache.h"

namespace tpjrt::aten {

// Converts like a C cast; `checked` refuses what does not fit, with PyTorch's text.
exec::ScalarBits ToBits(const c10::Scalar& value, DType dtype, bool checked = false);
// A 0-dim CPU tensor's value.
exec::ScalarBits ToBits(const at::Tensor& cpu_scalar, DType dtype);
c10::Scalar FromBytes(const void* bytes, c10::ScalarType type);

}  // namespace tpjrt::aten
