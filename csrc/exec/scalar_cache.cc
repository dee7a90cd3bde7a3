#include "exec/scalar_cache.h"

#include "exec/runtime.h"

namespace tpjrt::exec {

BufferRef ScalarCache::Get(const ScalarBits& bits, int device) {
  const Key key{bits, device};
  Map dropped;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  if (const auto found = young_.find(key); found != young_.end()) return found->second;
  BufferRef buffer;
  if (const auto found = old_.find(key); found != old_.end()) {
    buffer = found->second;
  } else {
    buffer = Runtime::Get().Upload(bits.words.data(), *InternType(bits.dtype, {}), device);
  }
  if (young_.size() >= kCapacity / 2) {
    dropped = std::exchange(old_, std::exchange(young_, {}));
  }
  young_.emplace(key, buffer);
  return buffer;
}

void ScalarCache::Clear() {
  const std::lock_guard lock(mutex_);
  young_.clear();
  old_.clear();
}

}  // namespace tpjrt::exec
