// Addresses that mean nothing: libraries compare data_ptr()s (safetensors, tied weights), so every
// storage gets a range of its own, at least its bytes long, from one reserved region that faults
// when the host touches it. Thread-safe.
#pragma once

#include <cstddef>

namespace tpjrt::aten {

// Owned by `owner`, which OwnerOf finds again. nullptr for zero bytes. Throws
// Error(kResourceExhausted) when no range is left.
void* TakeAddresses(size_t nbytes, void* owner);
void ReturnAddresses(void* address, size_t nbytes) noexcept;
// The owner of the range that starts at `address`; nullptr for any other address. PyTorch makes
// tensors over bare data pointers in places (legacy serialization).
void* OwnerOf(const void* address);

}  // namespace tpjrt::aten
