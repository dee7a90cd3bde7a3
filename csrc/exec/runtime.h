// The one global object of the core: the client, opened on first use, and what lives with it.
//
// Never destroyed (plugins own threads that outlive static destructors). Thread-safe. In a forked
// child of a process that had opened the client every use throws: plugins do not survive a fork.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "exec/completion.h"
#include "exec/device_buffer.h"
#include "exec/fault_log.h"
#include "exec/physical_type.h"
#include "exec/program_cache.h"
#include "exec/scalar_cache.h"
#include "pjrt/client.h"

namespace tpjrt::exec {

enum class Mode { kEager, kDebug };

struct RuntimeConfig {
  std::string plugin_path;
  std::vector<pjrt::ClientOption> options;
  std::vector<int> visible_devices = {};  // empty: all
  DiskCacheConfig cache;                  // no directory: no cache on disk
};

class Runtime {
 public:
  static Runtime& Get();

  // How to find the plugin when it is first needed; called then, once.
  void SetConfigProvider(std::function<RuntimeConfig()> provider);

  bool is_open() const { return client_ptr_.load(std::memory_order_acquire) != nullptr; }
  // Opens the client when needed. A failure is thrown again, with the same text, by every later
  // call.
  const pjrt::Client& client();
  int num_devices() { return client().num_devices(); }

  ProgramCache& programs() { return programs_; }
  ScalarCache& scalars() { return scalars_; }
  MemoryCounter& memory(int device) { return *counters_.at(static_cast<size_t>(device)); }

  // Copies host bytes to a device. Exhaustion drops the caches and tries once more.
  BufferRef Upload(const void* data, const PhysicalType& type, int device);
  BufferRef Wrap(pjrt::Buffer buffer);
  // Throws kResourceExhausted for more new bytes than a host-memory device can have: a CPU plugin
  // would end the process. Other plugins say so themselves.
  void RequireMemory(int64_t bytes);
  void DropCaches();

  Mode mode() const { return mode_.load(std::memory_order_relaxed); }
  void set_mode(Mode mode) { mode_.store(mode, std::memory_order_relaxed); }

  FaultLog& faults(int device) { return *faults_.at(static_cast<size_t>(device)); }

  // Waits for what was issued on a device and throws the first error or fault among it.
  void Synchronize(int device);
  // When what was issued on a device so far is done; returns at once. The first call on a device
  // makes later results remember their ready events: work whose result is dropped counts too.
  std::shared_ptr<const Completion> Record(int device);
  // Whether all of it is done.
  bool IsIdle(int device);
  // Remembers a result for Synchronize, without keeping it alive (that would forbid donation).
  void NoteIssued(int device, const BufferRef& buffer);

 private:
  Runtime();
  ~Runtime();
  void Open();

  std::function<RuntimeConfig()> provider_;
  std::mutex mutex_;
  std::string open_error_;
  std::unique_ptr<pjrt::Client> client_;
  std::atomic<const pjrt::Client*> client_ptr_{nullptr};
  std::vector<std::unique_ptr<MemoryCounter>> counters_;
  std::vector<std::unique_ptr<FaultLog>> faults_;
  ProgramCache programs_;
  ScalarCache scalars_;
  std::atomic<Mode> mode_{Mode::kEager};
  struct Issued;
  std::vector<std::unique_ptr<Issued>> issued_;
};

}  // namespace tpjrt::exec
