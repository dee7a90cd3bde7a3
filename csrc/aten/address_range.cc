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

constexpr int kSmallestOrder = 8;  // 256 bytes: also the alignment libraries expect of a device
constexpr int kOrders = 32;
constexpr size_t kLargestRegion = size_t{1} << 45;
constexpr size_t kSmallestRegion = size_t{1} << 40;

// Power-of-two size classes, each with an equal part of the region, a free list and its owners.
class Region {
 public:
  Region() {
    for (size_t size = kLargestRegion; size >= kSmallestRegion; size /= 2) {
      void* base =
          mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (base == MAP_FAILED) continue;
      base_ = reinterpret_cast<uintptr_t>(base);
      part_ = size / kOrders;
      return;
    }
  }

  void* Take(size_t nbytes, void* owner) {
    const int order = OrderOf(nbytes);
    const std::lock_guard lock(mutex_);
    const size_t index =
        order < kOrders ? TakeIndex(classes_[static_cast<size_t>(order)], order) : kNone;
    if (index == kNone) {
      Fail(ErrorCode::kResourceExhausted, "out of memory: no address range of ", nbytes,
           " bytes is left");
    }
    classes_[static_cast<size_t>(order)].owners[index] = owner;
    return reinterpret_cast<void*>(base_ + part_ * static_cast<size_t>(order) +
                                   (index << (order + kSmallestOrder)));
  }

  void Return(void* address, size_t nbytes) {
    const auto order = static_cast<size_t>(OrderOf(nbytes));
    const uintptr_t offset = reinterpret_cast<uintptr_t>(address) - base_ - part_ * order;
    const size_t index = offset >> (order + kSmallestOrder);
    const std::lock_guard lock(mutex_);
    classes_[order].owners[index] = nullptr;
    classes_[order].free.push_back(index);
  }

  void* Owner(const void* address) {
    const auto at = reinterpret_cast<uintptr_t>(address);
    if (at < base_ || at >= base_ + part_ * kOrders) return nullptr;
    const size_t order = (at - base_) / part_;
    const uintptr_t offset = at - base_ - part_ * order;
    const size_t index = offset >> (order + kSmallestOrder);
    const std::lock_guard lock(mutex_);
    const bool is_start = (index << (order + kSmallestOrder)) == offset;
    const auto& owners = classes_[order].owners;
    return is_start && index < owners.size() ? owners[index] : nullptr;
  }

 private:
  static constexpr size_t kNone = ~size_t{0};
  struct SizeClass {
    std::vector<void*> owners;
    std::vector<size_t> free;
  };

  static int OrderOf(size_t nbytes) {
    const int width = nbytes <= 1 ? 0 : std::bit_width(nbytes - 1);
    return width <= kSmallestOrder ? 0 : width - kSmallestOrder;
  }
  size_t TakeIndex(SizeClass& size_class, int order) const {
    if (!size_class.free.empty()) {
      const size_t index = size_class.free.back();
      size_class.free.pop_back();
      return index;
    }
    const size_t next = size_class.owners.size();
    if (((next + 1) << (order + kSmallestOrder)) > part_) return kNone;
    size_class.owners.push_back(nullptr);
    return next;
  }

  std::mutex mutex_;
  uintptr_t base_ = 0;
  size_t part_ = 0;
  std::array<SizeClass, kOrders> classes_;
};

Region& TheRegion() {
  static Region* region = new Region();
  return *region;
}

}  // namespace

void* TakeAddresses(size_t nbytes, void* owner) {
  return nbytes == 0 ? nullptr : TheRegion().Take(nbytes, owner);
}

void ReturnAddresses(void* address, size_t nbytes) noexcept {
  if (address != nullptr) TheRegion().Return(address, nbytes);
}

void* OwnerOf(const void* address) { return TheRegion().Owner(address); }

}  // namespace tpjrt::aten
