#include "aten/call.h"

#include <ATen/MemoryOverlap.h>

#include "aten/dtypes.h"
#include "aten/storage.h"
#include "lower/view.h"

namespace tpjrt::aten {
namespace {

using lower::ArgType;

// Words that start a tensor's part of the key; the rest of the word holds dtype and flags.
enum Tag : uint64_t { kUndefined = 1, kHostScalar, kWhole, kViewed };

uint64_t TagWord(Tag tag, c10::ScalarType dtype, uint64_t flags = 0) {
  return static_cast<uint64_t>(tag) | (static_cast<uint64_t>(dtype) << 8) | (flags << 16);
}

bool IsPlain(const c10::TensorImpl& impl, const exec::PhysicalType& type, DType dtype) {
  return type.dtype == dtype && impl.storage_offset() == 0 && impl.is_contiguous() &&
         impl.sizes() == at::IntArrayRef(type.dims);
}

// Content nobody wrote yet may take the type of the first tensor that covers it.
void AdoptType(exec::Slot& slot, const at::Tensor& tensor) {
  if (slot.buffer || slot.poison || tensor.storage_offset() != 0) return;
  if (static_cast<int64_t>(tensor.nbytes()) != slot.nbytes) return;
  const auto* type = DenseType(tensor.scalar_type(), tensor.sizes(), tensor.strides());
  if (type != nullptr && type->nbytes == slot.nbytes) slot.type = type;
}

}  // namespace

int64_t IntOf(const c10::IValue& value) {
  return value.isSymInt() ? value.toSymInt().guard_int(__FILE__, __LINE__) : value.toInt();
}

std::vector<int64_t> IntsOf(const c10::IValue& value) {
  if (value.isInt() || value.isSymInt()) return {IntOf(value)};
  if (value.isIntList()) return value.toIntVector();
  std::vector<int64_t> ints;
  for (const c10::IValue& entry : value.toListRef()) ints.push_back(IntOf(entry));
  return ints;
}

void ResolveLazyBits(const Binding& binding, c10::Stack* stack) {
  const auto resolve = [](const at::Tensor& tensor) {
    if (!tensor.defined() || tensor.device().type() != kDevice) return tensor;
    return ResolvedValue(tensor);
  };
  for (auto at = stack->end() - static_cast<int64_t>(binding.arguments.size()); at != stack->end();
       ++at) {
    c10::IValue& value = *at;
    if (value.isTensor()) {
      value = resolve(value.toTensor());
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(resolve(tensor));
      value = list;
    }
  }
}

Call::Call(const Binding& binding, c10::Stack& stack)
    : binding_(binding), arguments_(torch::jit::last(stack, binding.arguments.size())) {
  for (size_t i = 0; i < binding.arguments.size(); ++i) {
    AddArgument(binding.arguments[i], static_cast<int>(i));
  }
  if (writes_) RefuseOverlap();
}

void Call::AddArgument(const lower::SchemaArg& argument, int index) {
  const c10::IValue& value = arguments_[static_cast<size_t>(index)];
  const bool written = binding_.written[static_cast<size_t>(index)];
  if (value.isNone()) {
    key_.Add(0);
    return;
  }
  switch (argument.kind) {
    case ArgType::kTensor:
      AddTensor(value.toTensor(), index, written);
      break;
    case ArgType::kTensorList:
      key_.Add(value.toListRef().size());
      for (const c10::IValue& entry : value.toListRef()) {
        if (entry.isNone()) {
          key_.Add(0);
        } else {
          AddTensor(entry.toTensor(), index, written);
        }
      }
      break;
    case ArgType::kScalar:
    case ArgType::kFloat:
      AddScalar(value, binding_.registered->static_scalar[static_cast<size_t>(index)]);
      break;
    case ArgType::kScalarList:
      key_.Add(value.toListRef().size());
      for (const c10::IValue& entry : value.toListRef()) AddScalar(entry, true);
      break;
    case ArgType::kFloatList:
      key_.Add(value.toListRef().size());
      for (const c10::IValue& entry : value.toListRef()) key_.AddDouble(entry.toDouble());
      break;
    case ArgType::kInt:
      key_.Add(1);
      key_.AddSigned(IntOf(value));
      break;
    case ArgType::kIntList:
      AddInts(value);
      break;
    case ArgType::kBool:
      key_.Add(value.toBool() ? 2 : 1);
      break;
    case ArgType::kBoolList: {
      uint64_t bits = 1;
      for (const bool bit : value.toBoolList()) bits = (bits << 1) | (bit ? 1 : 0);
      key_.Add(bits);
      break;
    }
    case ArgType::kDType:
      key_.Add(1 + static_cast<uint64_t>(value.toScalarType()));
      break;
    case ArgType::kString:
      key_.AddText(value.toStringRef());
      break;
    case ArgType::kOther:
      // A memory format chooses the result's strides; device and layout were checked by the
      // dispatcher.
      if (value.isInt()) key_.AddSigned(1 + value.toInt());
      break;
    case ArgType::kGenerator:
      break;
  }
}

void Call::AddInts(const c10::IValue& value) {
  if (value.isIntList()) {
    const auto list = value.toIntList();
    key_.Add(1 + list.size());
    for (const int64_t entry : list) key_.AddSigned(entry);
    return;
  }
  const std::vector<int64_t> ints = IntsOf(value);
  key_.Add(1 + ints.size());
  for (int64_t entry : ints) key_.AddSigned(entry);
}

void Call::AddScalar(const c10::IValue& value, bool is_static) {
  const uint64_t kind = value.isBool()       ? 1
                        : value.isInt()      ? 2
                        : value.isDouble()   ? 3
                        : value.isUnsigned() ? 5
                                             : 4;
  key_.Add(kind);
  if (!is_static) return;
  if (value.isUnsigned()) {
    key_.Add(value.toUInt());
  } else if (value.isComplexDouble()) {
    key_.AddDouble(value.toComplexDouble().real());
    key_.AddDouble(value.toComplexDouble().imag());
  } else if (value.isDouble()) {
    key_.AddDouble(value.toDouble());
  } else {
    key_.AddSigned(value.isBool() ? static_cast<int64_t>(value.toBool())
                                  : value.toScalar().toLong());
  }
}

void Call::AddTensor(const at::Tensor& tensor, int index, bool written) {
  if (!tensor.defined()) {
    key_.Add(kUndefined);
    return;
  }
  if (tensor.device().type() == kDevice) {
    AddDeviceTensor(tensor, index, written);
    return;
  }
  TORCH_CHECK(tensor.is_cpu() && tensor.dim() == 0 && !written && tensor.layout() == c10::kStrided,
              binding_.name(),
              ": Expected all tensors to be on the same device, but found argument '",
              binding_.arguments[static_cast<size_t>(index)].name, "' on ", tensor.device(),
              " (sizes ", tensor.sizes(), ", ", tensor.scalar_type(), ") beside tensors on ",
              c10::Device(kDevice, static_cast<c10::DeviceIndex>(device_ < 0 ? 0 : device_)),
              ". Move it with .to(device).");
  AddHostScalar(tensor, index);
}

void Call::AddHostScalar(const at::Tensor& tensor, int index) {
  const bool wrapped = tensor.unsafeGetTensorImpl()->is_wrapped_number();
  key_.Add(TagWord(kHostScalar, tensor.scalar_type(), wrapped ? 1 : 0));
  TensorUse use;
  use.tensor = &tensor;
  use.argument = index;
  uses_.push_back(std::move(use));
}

void Call::AddDeviceTensor(const at::Tensor& tensor, int index, bool written) {
  exec::Slot& slot = SlotOf(tensor);
  if (device_ < 0) {
    device_ = slot.device;
  } else {
    TORCH_CHECK(slot.device == device_, binding_.name(),
                ": Expected all tensors to be on the same device, but found at least two devices, ",
                c10::Device(kDevice, static_cast<c10::DeviceIndex>(device_)), " and ",
                tensor.device(), " (argument '",
                binding_.arguments[static_cast<size_t>(index)].name, "')");
  }
  TensorUse use;
  use.tensor = &tensor;
  use.argument = index;
  use.slot = &slot;
  use.written = written;
  writes_ |= written;
  {
    const std::lock_guard lock(slot.mutex);
    if (!slot.buffer) [[unlikely]]
      AdoptType(slot, tensor);
    if (!written) use.buffer = exec::ReadLockedSlot(slot);
    use.type = slot.type;
  }
  const c10::ScalarType scalar_type = tensor.scalar_type();
  const DType dtype = ToDType(scalar_type);
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  if (impl.is_conj() || impl.is_neg()) [[unlikely]] {
    TORCH_CHECK(!written, binding_.name(),
                ": cannot write to a lazily conjugated or negated tensor; ",
                "call .resolve_conj() or .resolve_neg() first");
    has_lazy_bits_ = true;
  }
  if (IsPlain(impl, *use.type, dtype)) [[likely]] {
    key_.Add(TagWord(kWhole, scalar_type, written ? 1 : 0));
    key_.Add(reinterpret_cast<uint64_t>(use.type));
  } else {
    const auto dims = lower::ReinterpretedDims(use.type->dims, use.type->dtype, dtype);
    use.form = lower::PlanForm(dims, impl.sizes(), impl.strides(), impl.storage_offset());
    const uint64_t flags = (written ? 1 : 0) | (impl.storage_offset() == 0 ? 2 : 0) |
                           (static_cast<uint64_t>(use.form) << 2);
    key_.Add(TagWord(kViewed, scalar_type, flags));
    key_.Add(reinterpret_cast<uint64_t>(use.type));
    key_.AddList(impl.sizes());
    for (const int64_t stride : impl.strides()) key_.AddSigned(stride);
  }
  uses_.push_back(std::move(use));
}

void Call::RefuseOverlap() const {
  for (const TensorUse& use : uses_) {
    if (!use.written) continue;
    if (use.form != ir::Form::kWhole) at::assert_no_internal_overlap(*use.tensor);
    for (const TensorUse& other : uses_) {
      if (&other == &use || other.slot != use.slot || other.tensor == use.tensor) continue;
      if (other.form == ir::Form::kWhole && use.form == ir::Form::kWhole) continue;
      at::assert_no_partial_overlap(*use.tensor, *other.tensor);
    }
  }
}

}  // namespace tpjrt::aten
