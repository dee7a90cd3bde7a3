// The device allocator: hands out storages with undefined content and reports true memory counts.
#pragma once

#include <c10/core/Allocator.h>

namespace tpjrt::aten {

c10::Allocator* GetAllocator();
void RegisterAllocator();

}  // namespace tpjrt::aten
