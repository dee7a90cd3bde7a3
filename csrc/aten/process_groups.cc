#include "aten/process_groups.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <mutex>
#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "aten/staged_backend.h"
#include "aten/storage.h"

namespace tpjrt::aten {
namespace {

using BackendType = c10d::ProcessGroup::BackendType;
using BackendRef = c10::intrusive_ptr<c10d::Backend>;

constexpr const char* kHostBackend = "gloo";

BackendRef BackendFor(c10d::ProcessGroup& group, c10::DeviceType type) {
  return group.hasBackendForDeviceType(type) ? group.getBackend(type) : nullptr;
}

bool IsStaged(const BackendRef& backend) {
  return dynamic_cast<const StagedBackend*>(backend.get()) != nullptr;
}

// Under UNDEFINED, which no other backend has: a group reuses the first backend of a type.
void Use(c10d::ProcessGroup& group, c10::DeviceType type, const BackendRef& staged) {
  group.setBackend(type, BackendType::UNDEFINED, staged);
}

// One Gloo that serves both kinds of tensor must see them in one order, so both go through
// `staged`.
void PrepareForDevice(c10d::ProcessGroup& group) {
  const BackendRef gloo = BackendFor(group, kDevice);
  if (!gloo || IsStaged(gloo) || gloo->getBackendName() != kHostBackend) return;
  auto staged = c10::make_intrusive<StagedBackend>(gloo, kHostBackend);
  staged->setGroupUid(gloo->getGroupUid());
  const bool shared = BackendFor(group, c10::kCPU) == gloo;
  Use(group, kDevice, staged);
  if (shared) Use(group, c10::kCPU, staged);
}

void PrepareForHost(c10d::ProcessGroup& group) {
  if (group.hasBackendForDeviceType(c10::kCPU)) return;
  const BackendRef staged = BackendFor(group, kDevice);
  if (staged && IsStaged(staged)) Use(group, c10::kCPU, staged);
}

bool HasDefault(const c10d::ProcessGroup& group) {
  try {
    group.getDefaultBackend();
    return true;
  } catch (const c10::Error&) {
    return false;
  }
}

// c10d's choice of a default knows no registered backend, and can be one that the group lacks;
// sequence numbers and completion hooks ask the default.
void RepairDefault(c10d::ProcessGroup& group) {
  if (HasDefault(group)) return;
  for (const auto type : {BackendType::CUSTOM, BackendType::GLOO}) {
    const BackendType previous = group.getBackendType();
    group.setDefaultBackend(type);
    if (HasDefault(group)) return;
    group.setDefaultBackend(previous);
  }
}

void Prepare(c10d::ProcessGroup& group, c10::DispatchKeySet keys) {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  if (keys.has_backend(c10::BackendComponent::PrivateUse1Bit))
    PrepareForDevice(group);
  else if (keys.has_backend(c10::BackendComponent::CPUBit))
    PrepareForHost(group);
  RepairDefault(group);
}

// BackendSelect: it sees every call before the kernel that asks the group for its backend.
void BeforeCollective(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                      torch::jit::Stack* stack) {
  const size_t count = op.schema().arguments().size();
  for (const c10::IValue& argument : torch::jit::last(*stack, count)) {
    if (!argument.isCustomClass()) continue;
    const auto holder = argument.toObjectRef().getSlot(0).toCapsule();
    if (auto* group = dynamic_cast<c10d::ProcessGroup*>(holder.get())) Prepare(*group, keys);
  }
  op.redispatchBoxed(
      keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, c10::DispatchKey::BackendSelect),
      stack);
}

bool TakesProcessGroup(const c10::OperatorHandle& op) {
  if (!op.hasSchema()) return false;
  for (const c10::Argument& argument : op.schema().arguments())
    if (argument.name() == "process_group") return true;
  return false;
}

}  // namespace

void RegisterProcessGroups() {
  static auto* library = new torch::Library(torch::Library::IMPL, "c10d",
                                            c10::DispatchKey::BackendSelect, __FILE__, __LINE__);
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    if (name.getNamespace() != "c10d") continue;
    const auto op = dispatcher.findOp(name);
    if (op.has_value() && TakesProcessGroup(*op))
      library->impl(name.name.c_str(),
                    torch::CppFunction::makeFromBoxedFunction<&BeforeCollective>());
  }
}

void StageProcessGroup(const std::string& group_name, const std::string& name) {
  const auto group = c10d::resolve_process_group(group_name);
  const BackendRef host = BackendFor(*group, c10::kCPU);
  TORCH_CHECK(host, "process group ", group_name, " has no backend for host tensors");
  group->setBackend(kDevice, BackendType::CUSTOM, c10::make_intrusive<StagedBackend>(host, name));
}

}  // namespace tpjrt::aten
