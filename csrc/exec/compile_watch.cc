#include "exec/compile_watch.h"

namespace tpjrt::exec {

int64_t CompileWatch::Begin() {
  const std::lock_guard lock(mutex_);
  if (pending_.empty()) finished_ = 0;
  pending_.emplace(next_, Clock::now());
  changed_.notify_all();
  return next_++;
}

void CompileWatch::End(int64_t token) {
  const std::lock_guard lock(mutex_);
  finished_ += static_cast<int64_t>(pending_.erase(token));
  changed_.notify_all();
}

CompileProgress CompileWatch::Progress() const {
  const std::lock_guard lock(mutex_);
  CompileProgress progress{static_cast<int64_t>(pending_.size()), finished_, 0};
  if (!pending_.empty()) {
    progress.seconds =
        std::chrono::duration<double>(Clock::now() - pending_.begin()->second).count();
  }
  return progress;
}

bool CompileWatch::WaitForLong(double seconds) {
  const auto patience =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return closed_ || !pending_.empty(); });
    if (closed_) return false;
    const auto due = pending_.begin()->second + patience;
    if (Clock::now() >= due) return true;
    changed_.wait_until(lock, due);
  }
}

void CompileWatch::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

}  // namespace tpjrt::exec
