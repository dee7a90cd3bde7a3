#include "exec/program_cache.h"

#include <chrono>

namespace tpjrt::exec {

ExecutableRef ProgramCache::CompileNow(const pjrt::Client& client, const std::string& text,
                                       int num_parameters) {
  const auto start = std::chrono::steady_clock::now();
  ExecutableRef executable = client.Compile(text, num_parameters);
  nanoseconds_ += (std::chrono::steady_clock::now() - start) / std::chrono::nanoseconds(1);
  ++count_;
  return executable;
}

ExecutableRef ProgramCache::Compile(const pjrt::Client& client, const std::string& text,
                                    int num_parameters) {
  std::promise<ExecutableRef> promise;
  {
    std::unique_lock lock(mutex_);
    const auto [at, is_new] = programs_.try_emplace(text);
    if (!is_new) {
      const auto pending = at->second;
      lock.unlock();
      return pending.get();
    }
    at->second = promise.get_future().share();
  }
  try {
    ExecutableRef executable = CompileNow(client, text, num_parameters);
    promise.set_value(executable);
    return executable;
  } catch (...) {
    promise.set_exception(std::current_exception());
    const std::lock_guard lock(mutex_);
    programs_.erase(text);
    throw;
  }
}

}  // namespace tpjrt::exec
