#include "exec/slot.h"

#include "base/error.h"
#include "exec/runtime.h"

namespace tpjrt::exec {

const BufferRef& ReadLockedSlot(Slot& slot) {
  if (slot.poison) [[unlikely]] {
    Fail(
        ErrorCode::kFailedPrecondition,
        "this tensor's content was lost when an earlier in-place operation failed: ", *slot.poison);
  }
  if (!slot.buffer) [[unlikely]] {
    Runtime::Get().RequireMemory(slot.type->nbytes);
    const std::string zeros(static_cast<size_t>(slot.type->nbytes), '\0');
    slot.buffer = Runtime::Get().Upload(zeros.data(), *slot.type, slot.device);
  }
  return slot.buffer;
}

BufferRef ReadSlot(Slot& slot) {
  const std::lock_guard lock(slot.mutex);
  return ReadLockedSlot(slot);
}

void ReplaceSlot(Slot& slot, BufferRef buffer, const PhysicalType* type) {
  BufferRef old;  // destroyed after the lock is released
  const std::lock_guard lock(slot.mutex);
  old = std::exchange(slot.buffer, std::move(buffer));
  slot.type = type;
  slot.poison.reset();
}

}  // namespace tpjrt::exec
