// When issued work is done: one result of the device, or all that was issued up to a moment.
//
// Thread-safe. A plugin calls back in any of its threads or inside the call that registers, so
// nothing here takes a lock.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "pjrt/event.h"

namespace tpjrt::exec {

using Clock = std::chrono::steady_clock;

// One event, watched: it remembers when it happened.
class Work {
 public:
  static std::shared_ptr<const Work> Watch(const pjrt::Event& event);

  bool done() const { return done_.load(std::memory_order_acquire) != 0; }
  // Blocks until done; throws the work's error. Call without the GIL.
  void Wait() const;
  Clock::time_point time() const { return time_; }  // only once done()

 private:
  void Finish(const Error* error) noexcept;

  std::atomic<uint32_t> done_{0};  // publishes the members below
  Clock::time_point time_;
  std::string error_;
  ErrorCode code_ = ErrorCode::kInternal;
};

// All of some work, not before the completion was made. Of two completions of one device the one
// that was made later is never earlier.
class Completion {
 public:
  explicit Completion(std::vector<std::shared_ptr<const Work>> work = {})
      : made_(Clock::now()), work_(std::move(work)) {}

  bool done() const;
  // Blocks until done; throws the first error among the work. Call without the GIL.
  void Wait() const;
  Clock::time_point time() const;  // only once done()

 private:
  const Clock::time_point made_;
  const std::vector<std::shared_ptr<const Work>> work_;
};

}  // namespace tpjrt::exec
