// The boundary where the core's errors become PyTorch's.
#pragma once

#include <utility>

#include "base/error.h"

namespace tpjrt::aten {

// kInvalidArgument -> ValueError is PyTorch's for bad values; the device's own refusals are
// RuntimeErrors as on CUDA. kResourceExhausted -> torch.OutOfMemoryError, kUnimplemented ->
// NotImplementedError.
[[noreturn]] void ThrowTorchError(const Error& error);

// Runs a body and converts its errors.
template <typename Body>
auto Guarded(Body&& body) -> decltype(body()) {
  try {
    return std::forward<Body>(body)();
  } catch (const Error& error) {
    ThrowTorchError(error);
  }
}

}  // namespace tpjrt::aten
