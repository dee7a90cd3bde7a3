// Compiled programs by their text: memory, then disk, then the compiler. A text is loaded or
// compiled once, also when several threads ask at the same time. Thread-safe.
//
// Memory: texts are kept as digests. A program lives as long as somebody uses it; of those that
// nobody uses the latest `kept` stay, so the number of programs does not grow with the number of
// compilations.
#pragma once

#include <atomic>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/sha256.h"
#include "exec/background.h"
#include "exec/compile_watch.h"
#include "exec/disk_cache.h"
#include "pjrt/client.h"

namespace tpjrt::exec {

using ExecutableRef = std::shared_ptr<const pjrt::Executable>;

struct CacheCounters {
  int64_t memory_hits = 0;
  int64_t disk_hits = 0;
  int64_t compiled = 0;
  int64_t stored = 0;
  int64_t rejected = 0;  // entries on disk that were damaged or refused
  double compile_seconds = 0;
  double load_seconds = 0;  // reading and loading what was found on disk
  double store_seconds = 0;
};

class ProgramCache {
 public:
  explicit ProgramCache(size_t kept = 256);

  // From here on programs are also looked for and stored on disk. Before the first Compile.
  void SetDisk(std::unique_ptr<DiskCache> disk) { disk_ = std::move(disk); }
  DiskCache* disk() const { return disk_.get(); }

  // Blocks until the program is there. A failed compilation is not kept: the next call tries again.
  ExecutableRef Compile(const pjrt::Client& client, const std::string& text, int num_parameters);
  // Starts what Compile would do on a background thread, unless it is done or under way: several
  // programs compile in parallel. Compile then waits for it and throws its error. The client must
  // stay until StopBackground.
  void Prefetch(const pjrt::Client& client, std::string text, int num_parameters);
  // Ends background work; programs that were prefetched and not begun are compiled when asked for.
  void StopBackground();

  // Compiled or loaded.
  int64_t compile_count() const { return compiled_.load() + disk_hits_.load(); }
  double compile_seconds() const { return Seconds(compile_ns_); }
  CacheCounters counters() const;
  CompileWatch& watch() { return watch_; }
  // Programs known by their digest; those that are gone from memory are forgotten in bulk.
  size_t size() const;

 private:
  struct Program {
    bool running = false;
    std::shared_future<ExecutableRef> result;  // while running
    std::weak_ptr<const pjrt::Executable> executable;
    std::shared_ptr<const void> pending;  // counts it in watch_ until it is there
    bool awaited = false;                 // prefetched and not asked for yet:
    ExecutableRef prefetched;             // kept until then
  };
  using ProgramRef = std::shared_ptr<Program>;

  static double Seconds(const std::atomic<int64_t>& ns) {
    return static_cast<double>(ns.load()) * 1e-9;
  }
  ProgramRef Find(const Digest& digest);  // both under the lock
  ExecutableRef Keep(ExecutableRef executable);
  ExecutableRef Make(const pjrt::Client& client, const std::string& text, const Digest& digest,
                     int num_parameters);
  ExecutableRef Run(std::unique_lock<std::mutex> lock, Program& program, const pjrt::Client& client,
                    const std::string& text, const Digest& digest, int num_parameters);
  void RunInBackground(Program& program, const pjrt::Client& client, const std::string& text,
                       const Digest& digest, int num_parameters);

  std::unique_ptr<DiskCache> disk_;
  mutable std::mutex mutex_;
  std::unordered_map<Digest, ProgramRef, DigestHash> programs_;
  const size_t max_kept_;
  std::list<ExecutableRef> kept_;  // latest first
  size_t forget_at_;
  std::atomic<int64_t> memory_hits_{0}, disk_hits_{0}, compiled_{0};
  std::atomic<int64_t> compile_ns_{0}, load_ns_{0}, store_ns_{0};
  CompileWatch watch_;
  Background background_;  // last: its threads end first
};

}  // namespace tpjrt::exec
