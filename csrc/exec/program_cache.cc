#include "exec/program_cache.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "exec/strict.h"
#include "exec/trace.h"

namespace tpjrt::exec {
namespace {

using Clock = std::chrono::steady_clock;

int64_t Since(Clock::time_point start) {
  return (Clock::now() - start) / std::chrono::nanoseconds(1);
}

// Compilers use threads of their own for large programs: more of ours would only queue up.
int BackgroundThreads() {
  return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 4U));
}

#ifdef TPJRT_PLANTED_RACE
int64_t planted_lookups = 0;  // counted without a lock: tests/cpp/race
#endif

class Pending {
 public:
  explicit Pending(CompileWatch& watch) : watch_(watch), token_(watch.Begin()) {}
  ~Pending() { watch_.End(token_); }
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

 private:
  CompileWatch& watch_;
  const int64_t token_;
};

}  // namespace

ProgramCache::ProgramCache(size_t kept)
    : max_kept_(kept), forget_at_(4 * kept), background_(BackgroundThreads()) {}

ProgramCache::ProgramRef ProgramCache::Find(const Digest& digest) {
  ProgramRef& program = programs_[digest];
  if (program != nullptr) return program;
  program = std::make_shared<Program>();
  ProgramRef found = program;
  if (programs_.size() > forget_at_) {
    std::erase_if(programs_, [&](const auto& entry) {
      const Program& other = *entry.second;
      return entry.second.use_count() == 1 && !other.running && other.executable.expired();
    });
    forget_at_ = std::max(4 * max_kept_, 2 * programs_.size());
  }
  return found;
}

// Returns what is kept no longer, to be destroyed outside the lock.
ExecutableRef ProgramCache::Keep(ExecutableRef executable) {
  const auto at = std::find(kept_.begin(), kept_.end(), executable);
  if (at != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, at);
    return nullptr;
  }
  kept_.push_front(std::move(executable));
  if (kept_.size() <= max_kept_) return nullptr;
  ExecutableRef dropped = std::move(kept_.back());
  kept_.pop_back();
  return dropped;
}

ExecutableRef ProgramCache::Make(const pjrt::Client& client, const std::string& text,
                                 const Digest& digest, int num_parameters) {
  auto start = Clock::now();
  if (disk_ != nullptr) {
    const TraceRange range("pjrt::load");
    if (ExecutableRef loaded = disk_->Load(text, digest, num_parameters)) {
      load_ns_ += Since(start);
      ++disk_hits_;
      return loaded;
    }
    start = Clock::now();
  }
  RequireMayCompile();
  std::unique_ptr<pjrt::Executable> compiled;
  {
    const TraceRange range("pjrt::compile");
    compiled = client.Compile(text, num_parameters);
  }
  const int64_t compile_ns = Since(start);
  compile_ns_ += compile_ns;
  ++compiled_;
  if (disk_ != nullptr) {
    start = Clock::now();
    disk_->Store(*compiled, text, digest, compile_ns);
    store_ns_ += Since(start);
  }
  return compiled;
}

ExecutableRef ProgramCache::Run(std::unique_lock<std::mutex> lock, Program& program,
                                const pjrt::Client& client, const std::string& text,
                                const Digest& digest, int num_parameters) {
  std::promise<ExecutableRef> promise;
  program.running = true;
  program.result = promise.get_future().share();
  lock.unlock();
  ExecutableRef executable;
  try {
    executable = Make(client, text, digest, num_parameters);
    promise.set_value(executable);
  } catch (...) {
    promise.set_exception(std::current_exception());
  }
  lock.lock();
  program.running = false;
  program.pending.reset();
  program.executable = executable;
  if (program.awaited) program.prefetched = executable;
  const auto result = std::exchange(program.result, {});
  const ExecutableRef dropped = executable == nullptr ? nullptr : Keep(executable);
  lock.unlock();
  return result.get();  // throws what the compiler said
}

ExecutableRef ProgramCache::Compile(const pjrt::Client& client, const std::string& text,
                                    int num_parameters) {
#ifdef TPJRT_PLANTED_RACE
  ++planted_lookups;
#endif
  const Digest digest = Sha256::Of(text);
  std::unique_lock lock(mutex_);
  const ProgramRef program = Find(digest);
  program->awaited = false;
  const ExecutableRef prefetched = std::exchange(program->prefetched, nullptr);
  if (ExecutableRef executable = program->executable.lock()) {
    ++memory_hits_;
    const ExecutableRef dropped = Keep(executable);
    lock.unlock();
    return executable;
  }
  if (program->running) {
    ++memory_hits_;
    const auto result = program->result;
    lock.unlock();
    return result.get();
  }
  if (program->pending == nullptr) program->pending = std::make_shared<Pending>(watch_);
  return Run(std::move(lock), *program, client, text, digest, num_parameters);
}

void ProgramCache::RunInBackground(Program& program, const pjrt::Client& client,
                                   const std::string& text, const Digest& digest,
                                   int num_parameters) {
  std::unique_lock lock(mutex_);
  const bool wanted = program.awaited && !program.running && program.executable.expired();
  if (!wanted) return;  // Compile came first
  try {
    Run(std::move(lock), program, client, text, digest, num_parameters);
  } catch (const std::exception&) {
    // Compile tries again and throws it where somebody listens.
  }
}

void ProgramCache::Prefetch(const pjrt::Client& client, std::string text, int num_parameters) {
  const Digest digest = Sha256::Of(text);
  ProgramRef program;
  {
    const std::lock_guard lock(mutex_);
    program = Find(digest);
    if (program->pending != nullptr || !program->executable.expired()) return;
    program->awaited = true;
    program->pending = std::make_shared<Pending>(watch_);
  }
  const bool accepted =
      background_.Submit([this, &client, program, text = std::move(text), digest, num_parameters] {
        RunInBackground(*program, client, text, digest, num_parameters);
      });
  if (accepted) return;
  const std::lock_guard lock(mutex_);
  if (!program->running) program->pending.reset();
}

void ProgramCache::StopBackground() { background_.Stop(); }

CacheCounters ProgramCache::counters() const {
  CacheCounters counters;
  counters.memory_hits = memory_hits_.load();
  counters.disk_hits = disk_hits_.load();
  counters.compiled = compiled_.load();
  counters.compile_seconds = Seconds(compile_ns_);
  counters.load_seconds = Seconds(load_ns_);
  counters.store_seconds = Seconds(store_ns_);
  if (disk_ != nullptr) {
    counters.stored = disk_->stored();
    counters.rejected = disk_->rejected();
  }
  return counters;
}

size_t ProgramCache::size() const {
  const std::lock_guard lock(mutex_);
  return programs_.size();
}

}  // namespace tpjrt::exec
