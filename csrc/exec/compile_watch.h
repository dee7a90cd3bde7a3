// Which compilations are under way and since when, for somebody who shows it. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>

namespace tpjrt::exec {

struct CompileProgress {
  int64_t pending = 0;   // asked for and not ready
  int64_t finished = 0;  // since there was last nothing pending
  double seconds = 0;    // since the oldest pending one was asked for; 0 when there is none
};

class CompileWatch {
 public:
  using Clock = std::chrono::steady_clock;

  // From here to End the program counts as pending.
  int64_t Begin();
  void End(int64_t token);

  CompileProgress Progress() const;
  // Blocks until a program has been pending for this long, and returns true; false after Close.
  bool WaitForLong(double seconds);
  void Close();

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int64_t, Clock::time_point> pending_;  // by token, so the oldest is first
  int64_t next_ = 0;
  int64_t finished_ = 0;
  bool closed_ = false;
};

}  // namespace tpjrt::exec
