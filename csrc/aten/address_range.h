// Addresses that mean nothing: libraries compare data_ptr()s (safetensors, tied weights), so every
// storage gets a range of its own, at least its bytes long, from one reserved region that faults
// when the host touches it. Thread-safe.
#pragma once

#include <cstddef>

namespace tpjrt::aten {

// nullptr for zero bytes. Throws Error(kResourceExhausted) when the region is used up.
void* TakeAddresses(size_t nbytes);
void ReturnAddresses(void* address, size_t nbytes) noexcept;

}  // namespace tpjrt::aten
