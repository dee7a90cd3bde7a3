#include "exec/runtime.h"

#include <unistd.h>

#include <array>
#include <utility>

#include "base/error.h"
#include "pjrt/fork.h"

namespace tpjrt::exec {

// The latest results of a device. Plugins bound how many executions are in flight (CPU plugins to
// 32) or run them in order, so the latest ones are the only ones that can be unfinished.
struct Runtime::Issued {
  static constexpr size_t kSize = 64;
  struct Entry {
    std::weak_ptr<const DeviceBuffer> buffer;
    pjrt::Event ready;  // of the buffer; empty until someone asks
    std::shared_ptr<const Work> work;
    bool finished = false;
  };
  std::mutex mutex;
  std::array<Entry, kSize> ring;
  size_t next = 0;
  bool keeps_events = false;  // costs 0.3 us a result, so only once someone records

  std::vector<std::shared_ptr<const Work>> Unfinished();
};

Runtime::Runtime() = default;
Runtime::~Runtime() = default;

Runtime& Runtime::Get() {
  static Runtime* runtime = new Runtime();
  return *runtime;
}

void Runtime::SetConfigProvider(std::function<RuntimeConfig()> provider) {
  const std::lock_guard lock(mutex_);
  provider_ = std::move(provider);
}

const pjrt::Client& Runtime::client() {
  if (const pjrt::Client* client = client_ptr_.load(std::memory_order_acquire)) [[likely]] {
    pjrt::RequireNotForked("torch_pjrt");
    return *client;
  }
  const std::lock_guard lock(mutex_);
  if (!open_error_.empty()) Fail(ErrorCode::kFailedPrecondition, open_error_);
  if (!client_) Open();
  return *client_;
}

void Runtime::Open() {
  try {
    Check(static_cast<bool>(provider_), "no plugin was configured");
    RuntimeConfig config = provider_();
    const pjrt::Plugin& plugin = pjrt::Plugin::Load(config.plugin_path);
    client_ = pjrt::Client::Create(plugin, std::move(config.options), config.visible_devices);
    auto disk = std::make_unique<DiskCache>(std::move(config.cache), *client_);
    if (disk->usable()) programs_.SetDisk(std::move(disk));
  } catch (const std::exception& error) {
    open_error_ = error.what();
    throw;
  }
  for (int i = 0; i < client_->num_devices(); ++i) {
    counters_.push_back(std::make_unique<MemoryCounter>());
    faults_.push_back(std::make_unique<FaultLog>());
    issued_.push_back(std::make_unique<Issued>());
  }
  client_ptr_.store(client_.get(), std::memory_order_release);
}

BufferRef Runtime::Wrap(pjrt::Buffer buffer) {
  MemoryCounter* counter = &memory(buffer.device());
  return std::make_shared<const DeviceBuffer>(std::move(buffer), counter);
}

BufferRef Runtime::Upload(const void* data, const PhysicalType& type, int device) {
  const pjrt::Client& client = this->client();
  RequireMemory(type.nbytes);
  try {
    return Wrap(client.FromHost(data, type.dtype, type.dims, device));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kResourceExhausted) throw;
  }
  DropCaches();
  return Wrap(client.FromHost(data, type.dtype, type.dims, device));
}

void Runtime::RequireMemory(int64_t bytes) {
  constexpr int64_t kAlwaysTried = int64_t{1} << 28;
  if (bytes < kAlwaysTried || !client().host_memory()) return;
  const int64_t pages = sysconf(_SC_PHYS_PAGES);
  const int64_t total = pages * sysconf(_SC_PAGESIZE);
  int64_t held = 0;
  for (const auto& counter : counters_) held += counter->allocated();
  if (bytes > total - held) {
    Fail(ErrorCode::kResourceExhausted, "out of memory: ", bytes, " bytes are needed, ", held,
         " of ", total, " are in use by tensors");
  }
}

void Runtime::DropCaches() { scalars_.Clear(); }

void Runtime::NoteIssued(int device, const BufferRef& buffer) {
  Issued& issued = *issued_[static_cast<size_t>(device)];
  const std::lock_guard lock(issued.mutex);
  Issued::Entry& entry = issued.ring[issued.next++ % Issued::kSize];
  entry = {buffer, issued.keeps_events ? buffer->buffer().ReadyEvent() : pjrt::Event(), nullptr,
           false};
}

// Each entry is watched from the first question on, and not asked again once it is finished.
std::vector<std::shared_ptr<const Work>> Runtime::Issued::Unfinished() {
  std::vector<std::shared_ptr<const Work>> unfinished;
  for (Entry& entry : ring) {
    if (entry.finished) continue;
    if (!entry.work) {
      const BufferRef buffer = entry.ready.empty() ? entry.buffer.lock() : nullptr;
      if (buffer) entry.ready = buffer->buffer().ReadyEvent();
      if (!entry.ready.IsReady()) entry.work = Work::Watch(entry.ready);
      entry.ready = {};
    }
    entry.finished = !entry.work || entry.work->done();
    if (entry.finished) {
      entry.work.reset();
    } else {
      unfinished.push_back(entry.work);
    }
  }
  return unfinished;
}

std::shared_ptr<const Completion> Runtime::Record(int device) {
  if (!is_open()) return std::make_shared<Completion>();
  client();  // refuses in a forked child
  Issued& issued = *issued_.at(static_cast<size_t>(device));
  const std::lock_guard lock(issued.mutex);
  issued.keeps_events = true;
  return std::make_shared<Completion>(issued.Unfinished());
}

bool Runtime::IsIdle(int device) {
  if (!is_open()) return true;
  client();
  Issued& issued = *issued_.at(static_cast<size_t>(device));
  const std::lock_guard lock(issued.mutex);
  return issued.Unfinished().empty();
}

void Runtime::Synchronize(int device) {
  if (!is_open()) return;
  client();  // refuses in a forked child
  Issued& issued = *issued_.at(static_cast<size_t>(device));
  std::vector<BufferRef> pending;
  {
    const std::lock_guard lock(issued.mutex);
    for (const Issued::Entry& entry : issued.ring) {
      if (BufferRef buffer = entry.buffer.lock()) pending.push_back(std::move(buffer));
    }
  }
  for (const BufferRef& buffer : pending) buffer->buffer().Await();
  faults(device).Raise();
}

}  // namespace tpjrt::exec
