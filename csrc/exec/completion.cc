#include "exec/completion.h"

#include <algorithm>

#include "base/error.h"

namespace tpjrt::exec {

std::shared_ptr<const Work> Work::Watch(const pjrt::Event& event) {
  const auto work = std::make_shared<Work>();
  event.OnReady([work](const Error* error) { work->Finish(error); });
  return work;
}

void Work::Finish(const Error* error) noexcept {
  if (error != nullptr) {
    code_ = error->code();
    error_ = error->what();
  }
  time_ = Clock::now();
  done_.store(1, std::memory_order_release);
  done_.notify_all();
}

void Work::Wait() const {
  done_.wait(0, std::memory_order_acquire);
  if (!error_.empty()) Fail(code_, error_);
}

bool Completion::done() const {
  return std::all_of(work_.begin(), work_.end(), [](const auto& work) { return work->done(); });
}

void Completion::Wait() const {
  for (const auto& work : work_) work->Wait();
}

Clock::time_point Completion::time() const {
  Clock::time_point latest = made_;
  for (const auto& work : work_) latest = std::max(latest, work->time());
  return latest;
}

}  // namespace tpjrt::exec
