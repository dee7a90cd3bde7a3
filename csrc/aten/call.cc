#include "aten/call.h"

#include "aten/storage.h"

namespace tpjrt::aten {
namespace {

using lower::ArgType;

// Beyond int64 or complex: never special.
double ToDouble(const c10::IValue& value) {
  if (value.isDouble()) return value.toDouble();
  if (value.isInt()) return static_cast<double>(value.toInt());
  if (value.isBool()) return value.toBool() ? 1 : 0;
  return std::numeric_limits<double>::quiet_NaN();
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
  if (writes_) RefuseOverlap(uses_);
}

void Call::AddArgument(const lower::SchemaArg& argument, int index) {
  const c10::IValue& value = arguments_[static_cast<size_t>(index)];
  const bool written = binding_.written[static_cast<size_t>(index)];
  if (value.isNone()) {
    key_.Add(0);
    return;
  }
  const auto& row = *binding_.registered;
  const bool at_run_time = static_cast<size_t>(index) < row.runtime_number.size() &&
                           row.runtime_number[static_cast<size_t>(index)];
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
      AddNumber(value, static_cast<size_t>(index));
      break;
    case ArgType::kScalarList:
      key_.Add(value.toListRef().size());
      for (const c10::IValue& entry : value.toListRef()) {
        at_run_time ? AddNumber(entry, static_cast<size_t>(index)) : AddScalar(entry, true);
      }
      break;
    case ArgType::kFloatList:
      key_.Add(value.toListRef().size());
      for (const c10::IValue& entry : value.toListRef()) key_.AddDouble(entry.toDouble());
      break;
    case ArgType::kInt:
      key_.Add(1);
      if (!at_run_time) key_.AddSigned(IntOf(value));
      break;
    case ArgType::kIntList:
      if (at_run_time) {
        key_.Add(1 + IntsOf(value).size());
      } else {
        AddInts(value);
      }
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

void Call::AddNumber(const c10::IValue& value, size_t index) {
  const lower::RegisteredRow& row = *binding_.registered;
  const bool is_special = row.special_scalar[index] && row.is_special(ToDouble(value));
  AddScalar(value, is_special || row.static_scalar[index]);
}

void Call::AddScalar(const c10::IValue& value, bool is_static) {
  const uint64_t kind = value.isBool()       ? 1
                        : value.isInt()      ? 2
                        : value.isDouble()   ? 3
                        : value.isUnsigned() ? 5
                                             : 4;
  key_.Add(kind | (is_static ? 8 : 0));
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
    AddUndefined(key_);
    return;
  }
  if (tensor.device().type() == kDevice) {
    CheckDevice(SlotOf(tensor).device, tensor, index);
    uses_.push_back(UseDeviceTensor(tensor, written, key_));
    writes_ |= written;
    const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
    if (impl.is_conj() || impl.is_neg()) [[unlikely]] {
      TORCH_CHECK(!written, binding_.name(),
                  ": cannot write to a lazily conjugated or negated tensor; ",
                  "call .resolve_conj() or .resolve_neg() first");
      has_lazy_bits_ = true;
    }
  } else {
    TORCH_CHECK(
        tensor.is_cpu() && tensor.dim() == 0 && !written && tensor.layout() == c10::kStrided,
        binding_.name(), ": Expected all tensors to be on the same device, but found argument '",
        binding_.arguments[static_cast<size_t>(index)].name, "' on ", tensor.device(), " (sizes ",
        tensor.sizes(), ", ", tensor.scalar_type(), ") beside tensors on ",
        c10::Device(kDevice, static_cast<c10::DeviceIndex>(device_ < 0 ? 0 : device_)),
        ". Move it with .to(device).");
    uses_.push_back(UseHostScalar(tensor, key_));
  }
  uses_.back().argument = index;
}

void Call::CheckDevice(int device, const at::Tensor& tensor, int index) {
  if (device_ < 0) device_ = device;
  TORCH_CHECK(device == device_, binding_.name(),
              ": Expected all tensors to be on the same device, but found at least two devices, ",
              c10::Device(kDevice, static_cast<c10::DeviceIndex>(device_)), " and ",
              tensor.device(), " (argument '", binding_.arguments[static_cast<size_t>(index)].name,
              "')");
}

}  // namespace tpjrt::aten
