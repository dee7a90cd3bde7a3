#include "aten/op_kernel.h"

#include <ATen/native/Resize.h>

#include <algorithm>

#include "aten/device.h"
#include "aten/errors.h"
#include "aten/fallback.h"
#include "aten/generator.h"
#include "aten/scalars.h"
#include "aten/storage.h"
#include "exec/execute.h"
#include "exec/runtime.h"

namespace tpjrt::aten {
namespace {

using Kind = lower::Parameter::Kind;

struct Scratch {
  std::vector<exec::Operand> operands;
  std::vector<exec::Destination> destinations;
  std::vector<exec::BufferRef> results;
};

// Executions nest (a fallback inside an op runs ops), so each depth has its own scratch.
class ScratchLease {
 public:
  ScratchLease() {
    if (depth_ == pool_.size()) pool_.push_back(std::make_unique<Scratch>());
    scratch_ = pool_[depth_++].get();
  }
  ~ScratchLease() {
    scratch_->operands.clear();
    scratch_->destinations.clear();
    scratch_->results.clear();
    --depth_;
  }
  Scratch& operator*() const { return *scratch_; }

 private:
  static thread_local std::vector<std::unique_ptr<Scratch>> pool_;
  static thread_local size_t depth_;
  Scratch* scratch_;
};
thread_local std::vector<std::unique_ptr<Scratch>> ScratchLease::pool_;
thread_local size_t ScratchLease::depth_ = 0;

// The random state of this call: reserved once, when first asked for.
class RandomState {
 public:
  RandomState(Call& call, const Entry& entry) : call_(call), entry_(entry) {}

  uint64_t Word(Kind kind) {
    if (!reserved_) Reserve();
    return kind == Kind::kSeed ? state_.seed : state_.offset;
  }

 private:
  void Reserve() {
    reserved_ = true;
    std::optional<at::Generator> generator;
    const auto& arguments = call_.binding().arguments;
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].kind != lower::ArgType::kGenerator || call_.argument(i).isNone()) continue;
      generator = call_.argument(i).toGenerator();
    }
    const EntryTarget& first = entry_.targets.front();
    const at::IntArrayRef sizes = first.use >= 0
                                      ? call_.uses()[static_cast<size_t>(first.use)].tensor->sizes()
                                      : at::IntArrayRef(first.sizes);
    const auto draws = static_cast<uint64_t>(c10::multiply_integers(sizes)) *
                       static_cast<uint64_t>(call_.binding().draws_per_element);
    state_ = ReserveDraws(generator, call_.device(), draws);
  }

  Call& call_;
  const Entry& entry_;
  bool reserved_ = false;
  DrawState state_;
};

c10::Scalar NumberOf(const Call& call, const lower::Parameter& parameter) {
  const c10::IValue& value = call.argument(static_cast<size_t>(parameter.argument));
  const auto entry = static_cast<size_t>(parameter.entry);
  if (value.isList() && !value.isIntList()) return value.toListRef()[entry].toScalar();
  if (value.isIntList()) return value.toIntList().get(entry);
  return value.toScalar();
}

void FillOperands(const Entry& entry, Call& call, int device, Scratch& scratch) {
  exec::ScalarCache& scalars = exec::Runtime::Get().scalars();
  RandomState random(call, entry);
  for (const lower::Parameter& parameter : entry.parameters) {
    exec::Operand& operand = scratch.operands.emplace_back();
    switch (parameter.kind) {
      case Kind::kBuffer:
      case Kind::kOffset:
      case Kind::kHostScalar:
        operand = OperandOf(parameter, call.uses()[static_cast<size_t>(parameter.input)], device);
        break;
      case Kind::kScalar: {
        const c10::Scalar number = NumberOf(call, parameter);
        const auto bits = ToBits(number, parameter.dtype, parameter.checked);
        operand.buffer = scalars.Get(bits, device);
        break;
      }
      case Kind::kSeed:
      case Kind::kDrawOffset:
        operand.buffer =
            scalars.Get(exec::ScalarBits::Of(DType::kU64, random.Word(parameter.kind)), device);
        break;
    }
  }
}

// One program reads every storage before it writes any, and of two results that go to one storage
// the last would stay alone: views of one tensor in a list need their turns.
bool NeedsTurns(const TensorUses& uses, bool reads_too) {
  c10::SmallVector<const exec::Slot*, 8> written;
  for (const TensorUse& use : uses)
    if (use.written) written.push_back(use.slot);
  std::ranges::sort(written);
  if (std::ranges::adjacent_find(written) != written.end()) return true;
  return reads_too && std::ranges::any_of(uses, [&](const TensorUse& use) {
           return !use.written && std::ranges::binary_search(written, use.slot);
         });
}

// PyTorch's own kernel for lists, tensor by tensor: the one of a device that registers none.
void RunInTurns(const c10::OperatorHandle& op, c10::Stack* stack) {
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::VE), stack);
}

int64_t ReadCount(const exec::BufferRef& buffer) {
  int64_t count = 0;
  TORCH_INTERNAL_ASSERT(buffer->buffer().nbytes() == sizeof(count));
  buffer->buffer().CopyToHost(&count);
  return count;
}

}  // namespace

void OpKernel::operator()(const c10::OperatorHandle& /*op*/, c10::DispatchKeySet /*keys*/,
                          c10::Stack* stack) {
  Guarded([&] { Run(stack); });
}

void OpKernel::Run(c10::Stack* stack) {
  if (binding_.prepare != nullptr) binding_.prepare(binding_, stack);
  Entry* entry = nullptr;
  bool resized = false;
  for (;;) {
    Call call(binding_, *stack);
    if (call.has_lazy_bits()) [[unlikely]] {
      ResolveLazyBits(binding_, stack);
      continue;
    }
    entry = entries_.Find(call.key().words());
    if (entry == nullptr) [[unlikely]] {
      entry = entries_.Insert(call.key().words(), MakeEntry(call));
    }
    if (!entry->unsupported.empty()) [[unlikely]]
      break;
    if (entry->executable == nullptr) [[unlikely]] {
      TORCH_INTERNAL_ASSERT(!resized, binding_.name(), ": out= did not take its new size");
      ResizeOutputs(*entry, call);
      resized = true;
      continue;
    }
    if (entry->targets.size() > 1) {
      const bool by_tensor =
          binding_.op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd);
      if (NeedsTurns(call.uses(), by_tensor)) [[unlikely]] {
        if (by_tensor) return RunInTurns(binding_.op, stack);
        return Fallback(binding_.op, stack, "two of its results are views of one tensor");
      }
    }
    const int device = call.device() < 0 ? CurrentDevice() : call.device();
    const ScratchLease lease;
    Scratch& scratch = *lease;
    FillOperands(*entry, call, device, scratch);
    for (const EntryTarget& target : entry->targets) {
      if (!target.defined) continue;
      exec::Destination& destination = scratch.destinations.emplace_back();
      destination.type = target.type;
      if (target.use >= 0) destination.slot = call.uses()[static_cast<size_t>(target.use)].slot;
    }
    if (entry->counted) scratch.destinations.push_back({nullptr, entry->count_type});
    if (entry->report_type) scratch.destinations.push_back({nullptr, entry->report_type});
    exec::Execute(*entry->executable, device, scratch.operands, scratch.destinations,
                  &scratch.results);
    Finish(*entry, call, device, scratch.results, stack);
    return;
  }
  Fallback(binding_.op, stack, entry->unsupported);
}

void OpKernel::ResizeOutputs(const Entry& entry, Call& call) {
  for (const EntryTarget& target : entry.targets) {
    if (!target.needs_resize) continue;
    const at::Tensor& out = *call.uses()[static_cast<size_t>(target.use)].tensor;
    at::native::resize_output(out, target.sizes);
    if (out.strides() != at::IntArrayRef(target.strides)) {
      out.as_strided_(target.sizes, target.strides);
    }
  }
}

void OpKernel::ReportFaults(exec::BufferRef report, int device) {
  exec::Runtime& runtime = exec::Runtime::Get();
  runtime.faults(device).Add(std::move(report), &binding_.name());
  if (runtime.mode() == exec::Mode::kDebug) runtime.faults(device).Raise();
}

void OpKernel::Finish(const Entry& entry, Call& call, int device,
                      std::vector<exec::BufferRef>& results, c10::Stack* stack) {
  c10::SmallVector<c10::IValue, 4> returns;
  size_t next = 0;
  for (const EntryTarget& target : entry.targets) {
    exec::BufferRef buffer = target.defined ? std::move(results[next++]) : nullptr;
    if (!target.is_return) continue;
    if (target.use >= 0) {
      returns.push_back(*call.uses()[static_cast<size_t>(target.use)].tensor);
    } else if (target.number) {
      returns.emplace_back(*target.number);
    } else if (!target.defined) {
      returns.emplace_back(at::Tensor());
    } else {
      returns.push_back(MakeTensor(device, target.dtype, target.sizes, target.strides, target.type,
                                   std::move(buffer)));
    }
  }
  if (entry.counted) {
    returns[0] = returns[0].toTensor().narrow(0, 0, ReadCount(results[next]));
  }
  if (entry.report_type) ReportFaults(std::move(results.back()), device);
  torch::jit::drop(*stack, binding_.arguments.size());
  if (binding_.returns_list) {
    c10::List<at::Tensor> list;
    for (c10::IValue& value : returns) list.push_back(std::move(value).toTensor());
    stack->emplace_back(std::move(list));
    return;
  }
  for (c10::IValue& value : returns) stack->push_back(std::move(value));
}

}  // namespace tpjrt::aten
