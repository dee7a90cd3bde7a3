#include "aten/errors.h"

#include <c10/util/Exception.h>

namespace tpjrt::aten {

void ThrowTorchError(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kResourceExhausted:
      TORCH_CHECK_WITH(OutOfMemoryError, false, error.what());
    case ErrorCode::kOutOfRange:
      TORCH_CHECK_INDEX(false, error.what());
    case ErrorCode::kUnimplemented:
      TORCH_CHECK_NOT_IMPLEMENTED(false, error.what());
    default:
      TORCH_CHECK(false, error.what());
  }
  __builtin_unreachable();
}

}  // namespace tpjrt::aten
