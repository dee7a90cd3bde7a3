#include "aten/address_range.h"

#include <sys/mman.h>

#include <array>
#include <bit>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/error.h"

namespace tpjrt::aten {
namespace {

constexpr size_t kSmallest = 256;  // bytes, and the alignment libraries expect of a device
constexpr size_t kLargestRegion = size_t{1} << 45;
constexpr size_t kSmallestRegion = size_t{1} << 36;

// Power-of-two size classes with free lists over one bump-allocated region.
class Region {
 public:
  Region() {
    for (size_t size = kLargestRegion; size >= kSmallestRegion; size /= 2) {
      void* base =
          mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (base == MAP_FAILED) continue;
      next_ = reinterpret_cast<uintptr_t>(base);
      end_ = next_ + size;
      return;
    }
  }

  void* Take(size_t nbytes) {
    const int order = Order(nbytes);
    const std::lock_guard lock(mutex_);
    auto& list = free_[static_cast<size_t>(order)];
    if (!list.empty()) {
      void* address = list.back();
      list.pop_back();
      return address;
    }
    const size_t size = size_t{1} << order;
    if (end_ - next_ < size) {
      Fail(ErrorCode::kResourceExhausted, "no address range of ", nbytes, " bytes is left");
    }
    const uintptr_t address = next_;
    next_ += size;
    return reinterpret_cast<void*>(address);
  }

  void Return(void* address, size_t nbytes) {
    const std::lock_guard lock(mutex_);
    free_[static_cast<size_t>(Order(nbytes))].push_back(address);
  }

 private:
  static int Order(size_t nbytes) {
    return std::bit_width(nbytes <= kSmallest ? kSmallest - 1 : nbytes - 1);
  }
  std::mutex mutex_;
  uintptr_t next_ = 0;
  uintptr_t end_ = 0;
  std::array<std::vector<void*>, 64> free_;
};

Region& TheRegion() {
  static Region* region = new Region();
  return *region;
}

}  // namespace

void* TakeAddresses(size_t nbytes) { return nbytes == 0 ? nullptr : TheRegion().Take(nbytes); }

void ReturnAddresses(void* address, size_t nbytes) noexcept {
  if (address != nullptr) TheRegion().Return(address, nbytes);
}

}  // namespace tpjrt::aten
