#include "aten/tensor_use.h"

#include <ATen/MemoryOverlap.h>

#include "aten/dtypes.h"
#include "aten/scalars.h"
#include "aten/storage.h"
#include "exec/runtime.h"
#include "lower/view.h"

namespace tpjrt::aten {
namespace {

// Words that start a tensor's part of the key; the rest of the word holds dtype and flags.
enum Tag : uint64_t { kUndefined = 1, kHostScalar, kWhole, kViewed };

uint64_t TagWord(Tag tag, c10::ScalarType dtype, uint64_t flags = 0) {
  return static_cast<uint64_t>(tag) | (static_cast<uint64_t>(dtype) << 8) | (flags << 16);
}

bool IsRowMajor(at::IntArrayRef sizes, at::IntArrayRef strides) {
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] != 1 && strides[i] != stride) return false;
    stride *= sizes[i];
  }
  return true;
}

// Content nobody wrote yet may take the type of the first tensor that covers it.
void AdoptType(exec::Slot& slot, const at::Tensor& tensor) {
  if (slot.buffer || slot.poison || tensor.storage_offset() != 0) return;
  if (static_cast<int64_t>(tensor.nbytes()) != slot.nbytes) return;
  const auto* type = DenseType(tensor.scalar_type(), tensor.sizes(), tensor.strides());
  if (type != nullptr && type->nbytes == slot.nbytes) slot.type = type;
}

}  // namespace

ir::Form AddGeometry(ir::KeyBuilder& key, c10::ScalarType scalar_type, at::IntArrayRef sizes,
                     at::IntArrayRef strides, int64_t offset, const exec::PhysicalType& type,
                     bool written) {
  const DType dtype = ToDType(scalar_type);
  if (type.dtype == dtype && offset == 0 && sizes == at::IntArrayRef(type.dims) &&
      IsRowMajor(sizes, strides)) [[likely]] {
    key.Add(TagWord(kWhole, scalar_type, written ? 1 : 0));
    key.Add(reinterpret_cast<uint64_t>(&type));
    return ir::Form::kWhole;
  }
  const auto dims = lower::ReinterpretedDims(type.dims, type.dtype, dtype);
  const ir::Form form = lower::PlanForm(dims, sizes, strides, offset);
  const uint64_t flags =
      (written ? 1 : 0) | (offset == 0 ? 2 : 0) | (static_cast<uint64_t>(form) << 2);
  key.Add(TagWord(kViewed, scalar_type, flags));
  key.Add(reinterpret_cast<uint64_t>(&type));
  key.AddList(sizes);
  for (const int64_t stride : strides) key.AddSigned(stride);
  return form;
}

void AddUndefined(ir::KeyBuilder& key) { key.Add(kUndefined); }

void AddHostScalar(ir::KeyBuilder& key, c10::ScalarType dtype, bool wrapped) {
  key.Add(TagWord(kHostScalar, dtype, wrapped ? 1 : 0));
}

TensorUse UseHostScalar(const at::Tensor& tensor, ir::KeyBuilder& key) {
  AddHostScalar(key, tensor.scalar_type(), tensor.unsafeGetTensorImpl()->is_wrapped_number());
  TensorUse use;
  use.tensor = &tensor;
  return use;
}

TensorUse UseDeviceTensor(const at::Tensor& tensor, bool written, ir::KeyBuilder& key) {
  exec::Slot& slot = SlotOf(tensor);
  TensorUse use;
  use.tensor = &tensor;
  use.slot = &slot;
  use.written = written;
  {
    const std::lock_guard lock(slot.mutex);
    if (!slot.buffer) [[unlikely]]
      AdoptType(slot, tensor);
    if (!written) use.buffer = exec::ReadLockedSlot(slot);
    use.type = slot.type;
  }
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  use.form = AddGeometry(key, tensor.scalar_type(), impl.sizes(), impl.strides(),
                         impl.storage_offset(), *use.type, written);
  return use;
}

void RefuseOverlap(const TensorUses& uses) {
  for (const TensorUse& use : uses) {
    if (!use.written) continue;
    if (use.form != ir::Form::kWhole) at::assert_no_internal_overlap(*use.tensor);
    for (const TensorUse& other : uses) {
      if (&other == &use || other.slot != use.slot || other.tensor == use.tensor) continue;
      if (other.form == ir::Form::kWhole && use.form == ir::Form::kWhole) continue;
      at::assert_no_partial_overlap(*use.tensor, *other.tensor);
    }
  }
}

ir::Input InputOf(c10::ScalarType dtype, at::IntArrayRef sizes, at::IntArrayRef strides,
                  int64_t offset, const exec::PhysicalType& type, ir::Form form) {
  ir::Input input;
  input.dtype = ToDType(dtype);
  input.geometry.sizes = sizes.vec();
  input.geometry.strides = strides.vec();
  input.geometry.form = form;
  input.geometry.zero_offset = offset == 0;
  input.buffer_dtype = type.dtype;
  input.buffer_dims = type.dims;
  return input;
}

ir::Input InputOf(const TensorUse& use) {
  const at::Tensor& tensor = *use.tensor;
  if (use.slot != nullptr) {
    return InputOf(tensor.scalar_type(), tensor.sizes(), tensor.strides(), tensor.storage_offset(),
                   *use.type, use.form);
  }
  ir::Input input;
  input.kind = ir::Input::Kind::kHostScalar;
  input.dtype = ToDType(tensor.scalar_type());
  input.geometry.sizes = tensor.sizes().vec();
  input.wrapped_number = tensor.unsafeGetTensorImpl()->is_wrapped_number();
  return input;
}

exec::Operand OperandOf(const lower::Parameter& parameter, const TensorUse& use, int device) {
  using Kind = lower::Parameter::Kind;
  exec::ScalarCache& scalars = exec::Runtime::Get().scalars();
  exec::Operand operand;
  if (parameter.kind == Kind::kOffset) {
    const int64_t offset = use.tensor->storage_offset();
    operand.buffer = scalars.Get(exec::ScalarBits::Of(DType::kI64, offset), device);
  } else if (parameter.kind == Kind::kHostScalar) {
    operand.buffer = scalars.Get(ToBits(*use.tensor, parameter.dtype), device);
  } else {
    operand.slot = use.slot;
    operand.type = use.type;
    operand.buffer = use.buffer;
    operand.may_donate = parameter.donated_to >= 0;
  }
  return operand;
}

}  // namespace tpjrt::aten
