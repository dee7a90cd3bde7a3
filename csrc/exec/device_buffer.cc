#include "exec/device_buffer.h"

namespace tpjrt::exec {

void MemoryCounter::Add(int64_t bytes) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  const int64_t now = allocated_.fetch_add(bytes, kRelaxed) + bytes;
  total_.fetch_add(bytes, kRelaxed);
  allocations_.fetch_add(1, kRelaxed);
  active_.fetch_add(1, kRelaxed);
  int64_t peak = peak_.load(kRelaxed);
  while (now > peak && !peak_.compare_exchange_weak(peak, now, kRelaxed)) {
  }
}

void MemoryCounter::Remove(int64_t bytes) {
  allocated_.fetch_sub(bytes, std::memory_order_relaxed);
  active_.fetch_sub(1, std::memory_order_relaxed);
}

void MemoryCounter::ResetPeak() { peak_.store(allocated(), std::memory_order_relaxed); }

void MemoryCounter::ResetAccumulated() {
  total_.store(allocated(), std::memory_order_relaxed);
  allocations_.store(active(), std::memory_order_relaxed);
}

}  // namespace tpjrt::exec
