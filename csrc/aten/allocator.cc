#include "aten/allocator.h"

#include <c10/core/CachingDeviceAllocator.h>

#include "aten/device.h"
#include "aten/errors.h"
#include "aten/storage.h"
#include "exec/runtime.h"

namespace tpjrt::aten {
namespace {

using Stats = c10::CachingDeviceAllocator::DeviceStats;

void SetStat(c10::CachingAllocator::Stat& stat, int64_t current, int64_t peak, int64_t total) {
  stat.current = current;
  stat.peak = peak;
  stat.allocated = total;
  stat.freed = total - current;
}

class DeviceAllocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(size_t nbytes) override {
    const int64_t dims[] = {static_cast<int64_t>(nbytes)};
    return Guarded(
        [&] { return MakeDataPtr(CurrentDevice(), dims[0], exec::InternType(DType::kU8, dims)); });
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* /*dest*/, const void* /*src*/, std::size_t /*count*/) const override {
    TORCH_CHECK(false, "device memory has no host address: copy tensors, not pointers");
  }

  bool initialized() override { return exec::Runtime::Get().is_open(); }
  void emptyCache(c10::MempoolId_t /*mempool_id*/) override {
    if (initialized()) exec::Runtime::Get().DropCaches();
  }
  // One in-order stream per device: a buffer in use by it is kept alive by the plugin.
  void recordStream(const c10::DataPtr& /*ptr*/, c10::Stream /*stream*/) override {}

  Stats getDeviceStats(c10::DeviceIndex device) override {
    Stats stats;
    if (!initialized()) return stats;
    const auto& memory = exec::Runtime::Get().memory(CheckedDevice(device));
    const auto all = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    const int64_t bytes = memory.allocated();
    for (auto* array : {&stats.allocated_bytes, &stats.reserved_bytes, &stats.active_bytes,
                        &stats.requested_bytes}) {
      SetStat((*array)[all], bytes, memory.peak(), memory.total_allocated());
    }
    for (auto* array : {&stats.allocation, &stats.segment, &stats.active}) {
      SetStat((*array)[all], memory.active(), memory.active(), memory.allocations());
    }
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex device) override {
    if (initialized()) exec::Runtime::Get().memory(CheckedDevice(device)).ResetAccumulated();
  }
  void resetPeakStats(c10::DeviceIndex device) override {
    if (initialized()) exec::Runtime::Get().memory(CheckedDevice(device)).ResetPeak();
  }
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) override {
    return Guarded(
        [&]() -> std::pair<size_t, size_t> { return MemoryInfo(CheckedDevice(device)); });
  }
};

}  // namespace

c10::Allocator* GetAllocator() {
  static auto* allocator = new DeviceAllocator();
  return allocator;
}

void RegisterAllocator() { c10::SetAllocator(kDevice, GetAllocator()); }

}  // namespace tpjrt::aten
