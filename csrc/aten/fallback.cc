#include "aten/fallback.h"

#include <ATen/native/CPUFallback.h>
#include <ATen/record_function.h>
#include <torch/library.h>

#include <atomic>
#include <mutex>
#include <sstream>

#include "aten/storage.h"

namespace tpjrt::aten {
namespace {

struct State {
  std::mutex mutex;
  std::map<std::string, int64_t> counts;
  std::map<std::string, bool> warned;
  FallbackObserver observer;
  std::atomic<FallbackPolicy> policy{FallbackPolicy::kWarn};
};

State& TheState() {
  static State* state = new State();
  return *state;
}

std::string NameOf(const c10::OperatorHandle& op) {
  const auto& name = op.operator_name();
  return name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
}

std::string TypesOf(const c10::OperatorHandle& op, const c10::Stack& stack) {
  std::ostringstream out;
  const size_t count = op.schema().arguments().size();
  for (const c10::IValue& value : torch::jit::last(stack, count)) {
    if (!value.isTensor() || !value.toTensor().defined()) continue;
    const at::Tensor& tensor = value.toTensor();
    out << (out.tellp() > 0 ? ", " : "") << tensor.scalar_type() << tensor.sizes();
  }
  return out.str();
}

void Count(const std::string& name, const std::string& reason) {
  State& state = TheState();
  bool warn = false;
  FallbackObserver observer;
  {
    const std::lock_guard lock(state.mutex);
    ++state.counts[name];
    warn = state.policy == FallbackPolicy::kWarn && !std::exchange(state.warned[name], true);
    observer = state.observer;
  }
  if (observer) observer(name, reason);
  if (warn) {
    TORCH_WARN(
        name, " runs on the CPU: ", reason,
        ". Its tensors are copied to the host and back at every call (this is said once for each "
        "operator; torch_pjrt.fallback_counts() counts, torch_pjrt.set_fallback('error') "
        "refuses)");
  }
}

void Unserved(const c10::OperatorHandle& op, c10::Stack* stack) {
  Fallback(op, stack, "it has no device lowering");
}

}  // namespace

void SetFallbackPolicy(FallbackPolicy policy) { TheState().policy = policy; }
FallbackPolicy GetFallbackPolicy() { return TheState().policy; }

std::map<std::string, int64_t> FallbackCounts() {
  const std::lock_guard lock(TheState().mutex);
  return TheState().counts;
}

void ResetFallbackCounts() {
  const std::lock_guard lock(TheState().mutex);
  TheState().counts.clear();
}

void SetFallbackObserver(FallbackObserver observer) {
  const std::lock_guard lock(TheState().mutex);
  TheState().observer = std::move(observer);
}

void AdmitFallback(const std::string& op, const std::string& types, const std::string& reason) {
  TORCH_CHECK_NOT_IMPLEMENTED(TheState().policy != FallbackPolicy::kError, op, "(", types,
                              ") is not implemented for this device: ", reason,
                              ". torch_pjrt.set_fallback('warn') lets it run on the CPU.");
  Count(op, reason);
}

void Fallback(const c10::OperatorHandle& op, c10::Stack* stack, const std::string& reason) {
  const bool refuses = TheState().policy == FallbackPolicy::kError;
  AdmitFallback(NameOf(op), refuses ? TypesOf(op, *stack) : std::string(), reason);
  RECORD_FUNCTION("pjrt::fallback " + NameOf(op), {});
  at::native::cpu_fallback(op, stack);
}

void RegisterFallback() {
  static auto* library = new torch::Library(torch::Library::IMPL, "_",
                                            c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
  library->fallback(torch::CppFunction::makeFromBoxedFunction<&Unserved>());
}

}  // namespace tpjrt::aten
