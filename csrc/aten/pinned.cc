#include "aten/pinned.h"

#include <c10/util/Exception.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

namespace tpjrt::aten {
namespace {

constexpr size_t kAlignment = 64;  // what the plugins ask of memory they use in place

struct Blocks {
  std::mutex mutex;
  std::map<uintptr_t, size_t> sizes;
};

Blocks& TheBlocks() {
  static auto* blocks = new Blocks();
  return *blocks;
}

void Free(void* memory) {
  {
    const std::lock_guard lock(TheBlocks().mutex);
    TheBlocks().sizes.erase(reinterpret_cast<uintptr_t>(memory));
  }
  std::free(memory);
}

class Allocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t nbytes) override {
    if (nbytes == 0) return {nullptr, c10::Device(c10::kCPU)};
    const size_t rounded = (nbytes + kAlignment - 1) / kAlignment * kAlignment;
    void* memory = std::aligned_alloc(kAlignment, rounded);
    TORCH_CHECK_WITH(OutOfMemoryError, memory != nullptr, "cannot allocate ", nbytes,
                     " bytes of pinned host memory");
    const std::lock_guard lock(TheBlocks().mutex);
    TheBlocks().sizes[reinterpret_cast<uintptr_t>(memory)] = nbytes;
    return {memory, memory, &Free, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &Free; }
  void copy_data(void* destination, const void* source, std::size_t count) const override {
    std::memcpy(destination, source, count);
  }
};

}  // namespace

c10::Allocator* PinnedAllocator() {
  static auto* allocator = new Allocator();
  return allocator;
}

bool IsPinned(const void* data) {
  const auto address = reinterpret_cast<uintptr_t>(data);
  const std::lock_guard lock(TheBlocks().mutex);
  auto after = TheBlocks().sizes.upper_bound(address);
  if (after == TheBlocks().sizes.begin()) return false;
  --after;
  return address < after->first + after->second;
}

}  // namespace tpjrt::aten
