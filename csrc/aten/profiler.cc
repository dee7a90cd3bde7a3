// torch.profiler: ranges for compiling, executing and CPU fallbacks, and the device's own time.
//
// Kineto asks for device activity through IActivityProfiler. A PJRT plugin does not say when an
// execution began, only when its results are ready: a kernel is shown from its issue, or from the
// end of the one before it on that device, until its results were ready. It bears the name of the
// operator that issued it.
#include <ATen/record_function.h>
#include <libkineto.h>
#include <torch/csrc/profiler/standalone/privateuse1_profiler.h>
#include <torch/csrc/profiler/stubs/base.h>

#include <atomic>
#include <mutex>
#include <vector>

#include "aten/device.h"
#include "aten/errors.h"
#include "aten/register.h"
#include "aten/storage.h"
#include "exec/runtime.h"
#include "exec/trace.h"

namespace tpjrt::aten {
namespace {

using exec::Clock;
using exec::Completion;
using libkineto::ActivityType;

struct Execution {
  int device;
  uint64_t operator_id;  // Kineto's correlation id of the operator; 0: none
  Clock::time_point issued;
  std::shared_ptr<const exec::Work> work;
};

// The operators that this thread is inside of, as Kineto numbers them.
thread_local std::vector<uint64_t> operators;

class Trace final : public exec::TraceObserver {
 public:
  static Trace& Get() {
    static auto* trace = new Trace();
    return *trace;
  }

  void* Begin(const char* name) noexcept override {
    auto callbacks = at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION);
    if (!callbacks) [[likely]]
      return nullptr;
    auto* range = new at::RecordFunction(std::move(*callbacks));
    range->before(name);
    return range;
  }
  void End(void* range) noexcept override { delete static_cast<at::RecordFunction*>(range); }

  bool wants_executions() const noexcept override {
    return recording_.load(std::memory_order_relaxed);
  }
  void Executed(int device, Clock::time_point issued,
                std::shared_ptr<const exec::Work> work) noexcept override {
    const uint64_t id = operators.empty() ? 0 : operators.back();
    const std::lock_guard lock(mutex_);
    executions_.push_back({device, id, issued, std::move(work)});
  }

  void Start() {
    const std::lock_guard lock(mutex_);
    executions_.clear();
    recording_ = true;
  }
  std::vector<Execution> Stop() {
    recording_ = false;
    const std::lock_guard lock(mutex_);
    return std::exchange(executions_, {});
  }

 private:
  std::atomic<bool> recording_{false};
  std::mutex mutex_;
  std::vector<Execution> executions_;
};

// Nanoseconds from our clock's zero to Kineto's, the system's. Taken once for a trace: a thread may
// be interrupted between the two readings, and times of one trace must fit together.
int64_t SystemOffset() {
  using std::chrono::nanoseconds;
  const nanoseconds ours = Clock::now().time_since_epoch();
  return nanoseconds(std::chrono::system_clock::now().time_since_epoch() - ours).count();
}

int64_t Nanoseconds(Clock::time_point time) {
  return std::chrono::nanoseconds(time.time_since_epoch()).count();
}

class Session final : public libkineto::IActivityProfilerSession {
 public:
  void start() override {
    Trace::Get().Start();
    status_ = libkineto::TraceStatus::RECORDING;
  }
  void stop() override {
    executions_ = Trace::Get().Stop();
    status_ = libkineto::TraceStatus::PROCESSING;
  }
  std::vector<std::string> errors() override { return {}; }
  void processTrace(libkineto::ActivityLogger& logger) override {
    processTrace(logger, [](int32_t) { return nullptr; }, 0, 0);
  }
  void processTrace(libkineto::ActivityLogger& logger, libkineto::getLinkedActivityCallback linked,
                    int64_t /*start*/, int64_t /*end*/) override {
    buffer_ = std::make_unique<libkineto::CpuTraceBuffer>();
    std::vector<int64_t> free_from(static_cast<size_t>(DeviceCountOrZero()), 0);
    for (const Execution& execution : executions_) {
      try {
        execution.work->Wait();
      } catch (const Error&) {  // whoever reads the results is told
      }
      int64_t& free = free_from.at(static_cast<size_t>(execution.device));
      Add(execution, free, linked)->log(logger);
      free = std::max(free, buffer_->activities.back()->endTime);
    }
    executions_.clear();
  }
  std::unique_ptr<libkineto::DeviceInfo> getDeviceInfo() override { return nullptr; }
  std::vector<libkineto::ResourceInfo> getResourceInfos() override { return {}; }
  std::unique_ptr<libkineto::CpuTraceBuffer> getTraceBuffer() override {
    return std::move(buffer_);
  }
  void pushCorrelationId(uint64_t id) override { operators.push_back(id); }
  void popCorrelationId() override {
    if (!operators.empty()) operators.pop_back();
  }

 private:
  libkineto::GenericTraceActivity* Add(const Execution& execution, int64_t free,
                                       const libkineto::getLinkedActivityCallback& linked) {
    const auto id = static_cast<int32_t>(execution.operator_id);
    const libkineto::ITraceActivity* op = id != 0 ? linked(id) : nullptr;
    buffer_->emplace_activity(buffer_->span, ActivityType::CONCURRENT_KERNEL,
                              op != nullptr ? "pjrt::execute " + op->name() : "pjrt::execute");
    libkineto::GenericTraceActivity* activity = buffer_->activities.back().get();
    activity->endTime = offset_ + Nanoseconds(execution.work->time());
    activity->startTime =
        std::min(activity->endTime, std::max(free, offset_ + Nanoseconds(execution.issued)));
    activity->id = id;
    activity->device = execution.device;
    activity->linked = op;
    return activity;
  }

  const int64_t offset_ = SystemOffset();
  std::vector<Execution> executions_;
  std::unique_ptr<libkineto::CpuTraceBuffer> buffer_;
};

class Profiler final : public libkineto::IActivityProfiler {
 public:
  const std::string& name() const override { return name_; }
  const std::set<ActivityType>& availableActivities() const override { return activities_; }
  std::unique_ptr<libkineto::IActivityProfilerSession> configure(
      const std::set<ActivityType>& wanted, const libkineto::Config& /*config*/) override {
    if (!wanted.contains(ActivityType::CONCURRENT_KERNEL)) return nullptr;
    return std::make_unique<Session>();
  }
  std::unique_ptr<libkineto::IActivityProfilerSession> configure(
      int64_t /*ts_ms*/, int64_t /*duration_ms*/, const std::set<ActivityType>& wanted,
      const libkineto::Config& config) override {
    return configure(wanted, config);
  }

 private:
  std::string name_ = "torch_pjrt";
  std::set<ActivityType> activities_ = {ActivityType::CONCURRENT_KERNEL};
};

// The events of torch.autograd.profiler.profile(use_device=...), two around each operator.
struct Stubs final : torch::profiler::impl::ProfilerStubs {
  using Event = std::shared_ptr<void>;
  void record(c10::DeviceIndex* device, Event* event, int64_t* cpu_ns) const override {
    Guarded([&] {
      const int index = CurrentDevice();
      if (device != nullptr) *device = static_cast<c10::DeviceIndex>(index);
      *event = std::const_pointer_cast<Completion>(exec::Runtime::Get().Record(index));
    });
    if (cpu_ns != nullptr) *cpu_ns = SystemOffset() + Nanoseconds(Clock::now());
  }
  float elapsed(const Event* start, const Event* end) const override {  // microseconds
    const auto* first = static_cast<const Completion*>(start->get());
    const auto* last = static_cast<const Completion*>(end->get());
    Guarded([&] { first->Wait(), last->Wait(); });
    return std::chrono::duration<float, std::micro>(last->time() - first->time()).count();
  }
  void mark(const char* /*name*/) const override {}
  void rangePush(const char* /*name*/) const override {}
  void rangePop() const override {}
  bool enabled() const override { return true; }
  void onEachDevice(std::function<void(int)> body) const override {
    for (int device = 0; device < DeviceCountOrZero(); ++device) body(device);
  }
  void synchronize() const override {
    Guarded([] { exec::Runtime::Get().Synchronize(CurrentDevice()); });
  }
};

}  // namespace

void RegisterProfiler() {
  exec::AttachObserver(&Trace::Get());
  torch::profiler::impl::PrivateUse1ProfilerRegistry::instance().registerFactory(
      [] { return std::make_unique<Profiler>(); });
  torch::profiler::impl::registerPrivateUse1Methods(new Stubs());
}

}  // namespace tpjrt::aten
