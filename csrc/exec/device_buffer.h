// A buffer shared by the slots and executions that use it, with its bytes counted on its device.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "pjrt/buffer.h"

namespace tpjrt::exec {

// Bytes of device memory held through us: plugins for CPUs do not report any. Thread-safe.
class MemoryCounter {
 public:
  void Add(int64_t bytes);
  void Remove(int64_t bytes);
  int64_t allocated() const { return allocated_.load(std::memory_order_relaxed); }
  int64_t peak() const { return peak_.load(std::memory_order_relaxed); }
  int64_t total_allocated() const { return total_.load(std::memory_order_relaxed); }
  int64_t allocations() const { return allocations_.load(std::memory_order_relaxed); }
  int64_t active() const { return active_.load(std::memory_order_relaxed); }
  void ResetPeak();
  void ResetAccumulated();

 private:
  std::atomic<int64_t> allocated_{0}, peak_{0}, total_{0}, allocations_{0}, active_{0};
};

class DeviceBuffer {
 public:
  DeviceBuffer(pjrt::Buffer buffer, MemoryCounter* counter)
      : buffer_(std::move(buffer)), counter_(counter) {
    counter_->Add(buffer_.nbytes());
  }
  ~DeviceBuffer() { counter_->Remove(buffer_.nbytes()); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  const pjrt::Buffer& buffer() const { return buffer_; }

 private:
  pjrt::Buffer buffer_;
  MemoryCounter* counter_;
};

using BufferRef = std::shared_ptr<const DeviceBuffer>;

}  // namespace tpjrt::exec
