// A plugin's threads do not survive fork(): in a child of a process that has a client, using a
// handle is an Error and destroying one does nothing. Thread-safe.
#pragma once

#include <atomic>

namespace tpjrt::pjrt {

namespace internal {
extern std::atomic<bool> forked_with_client;
}

// From now on children of this process count as forked away. Called before the first client is
// made.
void WatchForks();

// True in a child of a process that had made a client.
inline bool InForkedChild() { return internal::forked_with_client.load(std::memory_order_relaxed); }

[[noreturn]] void ThrowForked(const char* what);

inline void RequireNotForked(const char* what) {
  if (InForkedChild()) [[unlikely]] {
    ThrowForked(what);
  }
}

}  // namespace tpjrt::pjrt
