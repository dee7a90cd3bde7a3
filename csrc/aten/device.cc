#include "aten/device.h"

#include <unistd.h>

#include <atomic>

#include "base/error.h"
#include "exec/runtime.h"

namespace tpjrt::aten {
namespace {

std::atomic<int> static_count{-1};
thread_local int current_device = 0;

}  // namespace

void SetStaticDeviceCount(int count) { static_count = count; }

int DeviceCount() {
  exec::Runtime& runtime = exec::Runtime::Get();
  const int known = static_count.load();
  if (known >= 0 && !runtime.is_open()) return known;
  return runtime.num_devices();
}

int DeviceCountOrZero() noexcept {
  try {
    return DeviceCount();
  } catch (...) {
    return 0;
  }
}

int CurrentDevice() { return current_device; }

int CheckedDevice(int device) {
  if (device == -1) return current_device;
  const int count = DeviceCount();
  Require(device >= 0 && device < count, "device index ", device, " is out of range: there are ",
          count, " devices (0 to ", count - 1, ")");
  return device;
}

int ExchangeDevice(int device) {
  const int previous = current_device;
  if (device != previous) current_device = CheckedDevice(device);
  return previous;
}

void SetCurrentDevice(int device) { ExchangeDevice(device); }

std::pair<size_t, size_t> MemoryInfo(int device) {
  exec::Runtime& runtime = exec::Runtime::Get();
  const pjrt::Client& client = runtime.client();
  pjrt::MemoryStats stats;
  if (client.GetMemoryStats(device, &stats)) {
    const auto total = static_cast<size_t>(stats.bytes_limit);
    return {total - static_cast<size_t>(stats.bytes_in_use), total};
  }
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return {page * static_cast<size_t>(sysconf(_SC_AVPHYS_PAGES)),
          page * static_cast<size_t>(sysconf(_SC_PHYS_PAGES))};
}

}  // namespace tpjrt::aten
