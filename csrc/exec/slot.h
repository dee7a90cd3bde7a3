// The slot of a storage: which buffer holds its content now.
//
// All tensors over one storage share its slot; a write replaces the buffer. Contract: every member
// but device and nbytes is read and written under the mutex. A write that failed after its buffer
// was donated leaves the slot poisoned: every later use throws that error.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "exec/device_buffer.h"
#include "exec/physical_type.h"

namespace tpjrt::exec {

struct Slot {
  Slot(int device_index, int64_t bytes, const PhysicalType* physical)
      : device(device_index), nbytes(bytes), type(physical) {}

  const int device;
  int64_t nbytes;  // of the storage; at most type->nbytes

  std::mutex mutex;
  const PhysicalType* type;  // of the buffer, also while there is none
  BufferRef buffer;          // empty: never written, content undefined
  std::unique_ptr<std::string> poison;
};

// The slot's buffer; an undefined one is filled with zeros first. Locks.
BufferRef ReadSlot(Slot& slot);
// The same for callers that hold the lock.
const BufferRef& ReadLockedSlot(Slot& slot);
// Replaces content and type. Locks.
void ReplaceSlot(Slot& slot, BufferRef buffer, const PhysicalType* type);

}  // namespace tpjrt::exec
