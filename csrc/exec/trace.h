// What a profiler is told: ranges of host time, and executions with the time at which each is done.
//
// The glue attaches one observer and keeps it for the life of the process. Nobody attached, or
// nobody interested, costs a load and a branch. Observers are called in the thread that runs the
// work, and must not throw.
#pragma once

#include <memory>

#include "exec/completion.h"

namespace tpjrt::exec {

class TraceObserver {
 public:
  virtual ~TraceObserver() = default;
  // A range named `name` begins in this thread; nullptr where nobody listens.
  virtual void* Begin(const char* name) noexcept = 0;
  virtual void End(void* range) noexcept = 0;
  // Whether executions are to be reported.
  virtual bool wants_executions() const noexcept = 0;
  virtual void Executed(int device, Clock::time_point issued,
                        std::shared_ptr<const Work> work) noexcept = 0;
};

void AttachObserver(TraceObserver* observer);
TraceObserver* Observer() noexcept;  // nullptr where none is attached

// A range of host time, while the object lives.
class TraceRange {
 public:
  explicit TraceRange(const char* name)
      : observer_(Observer()), range_(observer_ != nullptr ? observer_->Begin(name) : nullptr) {}
  ~TraceRange() {
    if (range_ != nullptr) observer_->End(range_);
  }
  TraceRange(const TraceRange&) = delete;
  TraceRange& operator=(const TraceRange&) = delete;

 private:
  TraceObserver* observer_;
  void* range_;
};

}  // namespace tpjrt::exec
