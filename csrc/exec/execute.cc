#include "exec/execute.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "exec/runtime.h"
#include "exec/trace.h"

namespace tpjrt::exec {
namespace {

// Reused by each thread so that an execution allocates nothing for its bookkeeping.
struct Scratch {
  std::vector<Slot*> locked;
  std::vector<PJRT_Buffer*> arguments;
  std::vector<PJRT_Buffer*> outputs;
  std::vector<int64_t> keep;
  std::vector<BufferRef> retired;  // old contents, released after the locks

  void Clear() {
    locked.clear();
    arguments.clear();
    outputs.clear();
    keep.clear();
  }
};

class SlotLocks {
 public:
  SlotLocks(std::vector<Slot*>& slots, std::span<const Destination> destinations) : slots_(slots) {
    for (const Destination& destination : destinations) {
      if (destination.slot != nullptr) slots_.push_back(destination.slot);
    }
    if (slots_.size() > 1) {
      std::sort(slots_.begin(), slots_.end());
      slots_.erase(std::unique(slots_.begin(), slots_.end()), slots_.end());
    }
    for (Slot* slot : slots_) slot->mutex.lock();
  }
  ~SlotLocks() {
    for (Slot* slot : slots_) slot->mutex.unlock();
  }
  SlotLocks(const SlotLocks&) = delete;
  SlotLocks& operator=(const SlotLocks&) = delete;

 private:
  std::vector<Slot*>& slots_;
};

bool IsWritten(const Slot* slot, std::span<const Destination> destinations) {
  return std::any_of(destinations.begin(), destinations.end(),
                     [slot](const Destination& d) { return d.slot == slot; });
}

// References to what is only read are taken before any written slot is locked.
void ReadUnwritten(std::span<Operand> operands, std::span<const Destination> destinations) {
  for (Operand& operand : operands) {
    if (operand.slot == nullptr || operand.buffer) continue;
    if (!IsWritten(operand.slot, destinations)) operand.buffer = ReadSlot(*operand.slot);
  }
}

bool ReadTwice(std::span<const PJRT_Buffer* const> arguments, const PJRT_Buffer* buffer) {
  return std::count(arguments.begin(), arguments.end(), buffer) > 1;
}

// Fills the argument handles; returns whether a buffer will be donated.
bool GatherArguments(std::span<Operand> operands, Scratch& scratch) {
  for (Operand& operand : operands) {
    const BufferRef& buffer = operand.buffer ? operand.buffer : ReadLockedSlot(*operand.slot);
    Require(operand.buffer || operand.slot->type == operand.type,
            "a tensor was written by another thread while an in-place operation on it began");
    scratch.arguments.push_back(buffer->buffer().handle());
  }
  bool donates = false;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].may_donate) continue;
    const bool sole = !operands[i].buffer && operands[i].slot->buffer.use_count() == 1 &&
                      !ReadTwice(scratch.arguments, scratch.arguments[i]);
    if (sole) {
      donates = true;
    } else {
      scratch.keep.push_back(static_cast<int64_t>(i));
    }
  }
  return donates;
}

void Poison(std::span<Operand> operands, const Scratch& scratch, const char* what) {
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool kept = std::find(scratch.keep.begin(), scratch.keep.end(),
                                static_cast<int64_t>(i)) != scratch.keep.end();
    if (!operands[i].may_donate || kept) continue;
    operands[i].slot->poison = std::make_unique<std::string>(what);
  }
}

void StoreResults(const pjrt::Client& client, std::span<const Destination> destinations, int device,
                  Scratch& scratch, std::vector<BufferRef>* results) {
  Runtime& runtime = Runtime::Get();
  for (size_t i = 0; i < destinations.size(); ++i) {
    const Destination& to = destinations[i];
    BufferRef buffer = runtime.Wrap(
        pjrt::Buffer(&client, scratch.outputs[i], to.type->dtype, to.type->dims, device));
    runtime.NoteIssued(device, buffer);
    if (to.slot == nullptr) {
      results->push_back(std::move(buffer));
      continue;
    }
    scratch.retired.push_back(std::exchange(to.slot->buffer, std::move(buffer)));
    to.slot->type = to.type;
    to.slot->poison.reset();
    results->emplace_back();
  }
}

void Launch(const pjrt::Client& client, const pjrt::Executable& executable, int device,
            std::span<Operand> operands, std::span<const Destination> destinations,
            Scratch& scratch, std::vector<BufferRef>* results) {
  int64_t bytes = executable.temp_bytes();
  for (const Destination& destination : destinations) bytes += destination.type->nbytes;
  Runtime::Get().RequireMemory(bytes);
  const SlotLocks locks(scratch.locked, destinations);
  const bool donates = GatherArguments(operands, scratch);
  scratch.outputs.resize(destinations.size());
  try {
    executable.Execute(scratch.arguments, scratch.outputs, device, scratch.keep);
  } catch (const Error& error) {
    if (donates) Poison(operands, scratch, error.what());
    throw;
  }
  StoreResults(client, destinations, device, scratch, results);
}

// Launches, once more after the caches were dropped where memory was short.
void Issue(const pjrt::Client& client, const pjrt::Executable& executable, int device,
           std::span<Operand> operands, std::span<const Destination> destinations, Scratch& scratch,
           std::vector<BufferRef>* results) {
  const TraceRange range("pjrt::execute");
  ReadUnwritten(operands, destinations);
  results->clear();
  for (bool retried = false;; retried = true) {
    scratch.Clear();
    try {
      Launch(client, executable, device, operands, destinations, scratch, results);
      break;
    } catch (const Error& error) {
      const bool poisoned = std::any_of(
          operands.begin(), operands.end(),
          [](const Operand& operand) { return operand.slot != nullptr && operand.slot->poison; });
      if (retried || poisoned || error.code() != ErrorCode::kResourceExhausted) throw;
      Runtime::Get().DropCaches();
    }
  }
}

// Tells a profiler when the execution's first result is there; all come together.
void ReportExecution(TraceObserver& observer, int device, Clock::time_point issued,
                     std::span<const Destination> destinations,
                     const std::vector<BufferRef>& results) {
  if (results.empty()) return;
  const BufferRef buffer = results[0] ? results[0] : ReadSlot(*destinations[0].slot);
  observer.Executed(device, issued, Work::Watch(buffer->buffer().ReadyEvent()));
}

void AwaitAll(std::span<const Destination> destinations, const std::vector<BufferRef>& results) {
  for (size_t i = 0; i < results.size(); ++i) {
    const BufferRef buffer = results[i] ? results[i] : ReadSlot(*destinations[i].slot);
    buffer->buffer().Await();
  }
}

}  // namespace

void Execute(const pjrt::Executable& executable, int device, std::span<Operand> operands,
             std::span<const Destination> destinations, std::vector<BufferRef>* results) {
  thread_local Scratch scratch;
  TraceObserver* const observer = Observer();
  const bool traced = observer != nullptr && observer->wants_executions();
  const auto issued = traced ? Clock::now() : Clock::time_point();
  Runtime& runtime = Runtime::Get();
  const pjrt::Client& client = runtime.client();
  Issue(client, executable, device, operands, destinations, scratch, results);
  scratch.retired.clear();
  if (traced) ReportExecution(*observer, device, issued, destinations, *results);
  if (runtime.mode() == Mode::kDebug) AwaitAll(destinations, *results);
}

}  // namespace tpjrt::exec
