// Host memory for fast copies: aligned so that a plugin can use it in place. `is_pinned` is true
// for it.
#pragma once

#include <c10/core/Allocator.h>

namespace tpjrt::aten {

c10::Allocator* PinnedAllocator();
bool IsPinned(const void* data);

}  // namespace tpjrt::aten
