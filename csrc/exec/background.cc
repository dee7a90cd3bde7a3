#include "exec/background.h"

#include <utility>

namespace tpjrt::exec {

bool Background::Submit(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return false;
  tasks_.push_back(std::move(task));
  const bool all_busy = static_cast<int>(tasks_.size()) > idle_;
  if (all_busy && static_cast<int>(threads_.size()) < max_threads_) {
    threads_.emplace_back([this] { Work(); });
  }
  wake_.notify_one();
  return true;
}

void Background::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    wake_.wait(lock, [this] { return stopped_ || !tasks_.empty(); });
    --idle_;
    if (stopped_) return;
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

void Background::Stop() {
  std::deque<std::function<void()>> dropped;
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    dropped.swap(tasks_);
    threads.swap(threads_);
  }
  wake_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace tpjrt::exec
