#include "exec/trace.h"

#include <atomic>

namespace tpjrt::exec {
namespace {

std::atomic<TraceObserver*> attached{nullptr};

}  // namespace

void AttachObserver(TraceObserver* observer) { attached.store(observer); }
TraceObserver* Observer() noexcept { return attached.load(std::memory_order_acquire); }

}  // namespace tpjrt::exec
