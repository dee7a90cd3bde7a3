// A few threads that run tasks in the order they were given. The threads start with the first task.
// Thread-safe; tasks must not throw.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tpjrt::exec {

class Background {
 public:
  explicit Background(int max_threads) : max_threads_(max_threads) {}
  ~Background() { Stop(); }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // False, and the task is dropped, after Stop.
  bool Submit(std::function<void()> task);
  // Drops the tasks that have not begun and waits for those that have.
  void Stop();

 private:
  void Work();

  const int max_threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
  int idle_ = 0;
  bool stopped_ = false;
};

}  // namespace tpjrt::exec
