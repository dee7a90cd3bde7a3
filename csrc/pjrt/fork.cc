#include "pjrt/fork.h"

#include <pthread.h>

#include <mutex>

#include "base/error.h"

namespace tpjrt::pjrt {

namespace internal {
std::atomic<bool> forked_with_client = false;
}

void WatchForks() {
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork(nullptr, nullptr, [] { internal::forked_with_client.store(true); });
  });
}

void ThrowForked(const char* what) {
  Fail(ErrorCode::kFailedPrecondition, what,
       ": the device was opened before this process was forked, and a plugin does not survive a "
       "fork. Start workers with the \"spawn\" method, or use the device first in the worker.");
}

}  // namespace tpjrt::pjrt
