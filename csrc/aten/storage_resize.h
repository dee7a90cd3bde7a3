// Changing the size of a device storage, keeping the bytes both sizes have.
#pragma once

#include <c10/core/StorageImpl.h>

#include <cstdint>

namespace tpjrt::aten {

void ResizeStorage(c10::StorageImpl* storage, int64_t nbytes);

}  // namespace tpjrt::aten
