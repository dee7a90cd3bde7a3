// Compiled programs by their text: each text is compiled once per process, also when several
// threads ask at the same time. Thread-safe. In memory; a disk cache would sit in Compile, between
// the lookup and the compiler.
#pragma once

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "pjrt/client.h"

namespace tpjrt::exec {

using ExecutableRef = std::shared_ptr<const pjrt::Executable>;

class ProgramCache {
 public:
  // Blocks while compiling. A failed compilation is not kept: the next call tries again.
  ExecutableRef Compile(const pjrt::Client& client, const std::string& text, int num_parameters);

  int64_t compile_count() const { return count_.load(); }
  double compile_seconds() const { return static_cast<double>(nanoseconds_.load()) * 1e-9; }

 private:
  ExecutableRef CompileNow(const pjrt::Client& client, const std::string& text, int num_parameters);

  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_future<ExecutableRef>> programs_;
  std::atomic<int64_t> count_{0};
  std::atomic<int64_t> nanoseconds_{0};
};

}  // namespace tpjrt::exec
