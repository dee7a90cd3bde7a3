// Copies between host and device, between devices, and on a device; reading values on the host.
#include <ATen/ATen.h>
#include <ATen/native/Resize.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include "aten/dtypes.h"
#include "aten/errors.h"
#include "aten/op_kernel.h"
#include "aten/register.h"
#include "aten/scalars.h"
#include "aten/storage.h"
#include "exec/runtime.h"

namespace tpjrt::aten {
namespace {

bool OnDevice(const at::Tensor& tensor) { return tensor.device().type() == kDevice; }

// dst = src on one device, through the `copy` row.
void CopyOnDevice(const at::Tensor& dst, const at::Tensor& src) {
  c10::Stack stack{dst, src, false};
  CallOwn("aten::copy_", &stack);
}

// The tensor covers a storage of this type exactly, in its own dtype: the buffer is its value, dims
// in `order`.
bool OwnsWholeStorage(const at::Tensor& tensor, const exec::PhysicalType& type,
                      std::vector<int64_t>* order) {
  if (tensor.storage_offset() != 0 || type.dtype != ToDType(tensor.scalar_type())) return false;
  if (type.num_elements != tensor.numel()) return false;
  return DenseOrder(tensor.sizes(), tensor.strides(), order);
}

// A tensor's value as one buffer: dims in `order`, its physical type beside it.
struct WholeValue {
  exec::BufferRef buffer;
  const exec::PhysicalType* type = nullptr;
  std::vector<int64_t> order;
};

// Buffer and type are read together: another thread may be writing. A part of a storage, or one
// that another dtype wrote, is copied to a storage of its own first.
WholeValue ReadWhole(const at::Tensor& src) {
  WholeValue value;
  exec::Slot& slot = SlotOf(src);
  {
    const std::lock_guard lock(slot.mutex);
    if (OwnsWholeStorage(src, *slot.type, &value.order)) {
      value.buffer = exec::ReadLockedSlot(slot);
      value.type = slot.type;
      return value;
    }
  }
  const at::Tensor compact = at::empty(src.sizes(), src.options());
  CopyOnDevice(compact, src);
  return ReadWhole(compact);
}

std::vector<int64_t> Inverse(const std::vector<int64_t>& order) {
  std::vector<int64_t> inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return inverse;
}

void HostToDevice(const at::Tensor& dst, const at::Tensor& src) {
  exec::Slot& slot = SlotOf(dst);
  const at::Tensor value =
      src.resolve_conj().resolve_neg().to(dst.scalar_type()).expand(dst.sizes());
  std::vector<int64_t> order;
  const auto* type = DenseType(dst.scalar_type(), dst.sizes(), dst.strides());
  const bool whole = type != nullptr && dst.storage_offset() == 0 && type->nbytes == slot.nbytes &&
                     DenseOrder(dst.sizes(), dst.strides(), &order);
  if (!whole) {
    at::Tensor staged = at::empty(dst.sizes(), dst.options());
    HostToDevice(staged, value);
    CopyOnDevice(dst, staged);
    return;
  }
  const at::Tensor ordered = value.permute(order).contiguous();
  exec::ReplaceSlot(slot, exec::Runtime::Get().Upload(ordered.const_data_ptr(), *type, slot.device),
                    type);
}

void DeviceToHost(const at::Tensor& dst, const at::Tensor& src) {
  const WholeValue value = ReadWhole(src);
  exec::Runtime::Get().faults(value.buffer->buffer().device()).Raise();
  const bool direct = dst.scalar_type() == src.scalar_type() && !dst.is_conj() && !dst.is_neg() &&
                      dst.permute(value.order).is_contiguous();
  if (direct) {
    value.buffer->buffer().CopyToHost(dst.mutable_data_ptr());
    return;
  }
  std::vector<int64_t> dims;
  for (int64_t dim : value.order) dims.push_back(src.size(dim));
  at::Tensor staged = at::empty(dims, src.options().device(c10::kCPU));
  value.buffer->buffer().CopyToHost(staged.mutable_data_ptr());
  dst.copy_(staged.permute(Inverse(value.order)));
}

void DeviceToDevice(const at::Tensor& dst, const at::Tensor& src) {
  const WholeValue value = ReadWhole(src);
  const int target = SlotOf(dst).device;
  exec::Runtime& runtime = exec::Runtime::Get();
  exec::BufferRef copied = runtime.Wrap(value.buffer->buffer().CopyToDevice(target));
  runtime.NoteIssued(target, copied);
  std::vector<int64_t> dims;
  for (int64_t dim : value.order) dims.push_back(src.size(dim));
  const at::Tensor there = MakeTensor(target, src.scalar_type(), dims, RowMajorStrides(dims),
                                      value.type, std::move(copied));
  CopyOnDevice(dst, there.permute(Inverse(value.order)));
}

void CopyPlain(const at::Tensor& dst, const at::Tensor& src) {
  if (!OnDevice(src)) {
    TORCH_CHECK(src.is_cpu(), "cannot copy from ", src.device(), " to ", dst.device());
    HostToDevice(dst, src);
  } else if (!OnDevice(dst)) {
    TORCH_CHECK(dst.is_cpu(), "cannot copy from ", src.device(), " to ", dst.device());
    DeviceToHost(dst, src.expand(dst.sizes()));
  } else if (src.device() == dst.device()) {
    CopyOnDevice(dst, src);
  } else {
    DeviceToDevice(dst, src);
  }
}

// `non_blocking` is allowed and copies are still complete on return: the source may be reused.
at::Tensor CopyFrom(const at::Tensor& self, const at::Tensor& dst, bool /*non_blocking*/) {
  return Guarded([&] {
    if (!at::is_expandable_to(self.sizes(), dst.sizes())) {
      at::infer_size(dst.sizes(), self.sizes());  // throws where the two do not broadcast
      TORCH_CHECK(false, "output with shape ", dst.sizes(), " doesn't match the broadcast shape ",
                  at::infer_size(dst.sizes(), self.sizes()));
    }
    if (dst.numel() == 0) return dst;
    const c10::OptionalDeviceGuard guard(OnDevice(dst) ? dst.device() : self.device());
    at::Tensor src = ResolvedValue(self);
    at::Tensor target = dst;
    // Writing v to a lazily conjugated (negated) tensor stores conj(v) (-v) behind it.
    if (OnDevice(dst) && target.is_conj()) {
      target = target._conj();
      src = src.is_complex() ? at::conj_physical(src) : src;
    }
    if (OnDevice(dst) && target.is_neg()) {
      target = target._neg_view();
      src = at::neg(src);
    }
    CopyPlain(target, src);
    return dst;
  });
}

at::Tensor CopyFromAndResize(const at::Tensor& self, const at::Tensor& dst) {
  at::native::resize_output(dst, self.sizes());
  return CopyFrom(self, dst, false);
}

c10::Scalar ReadScalar(const at::Tensor& self) {
  return Guarded([&] {
    const WholeValue value = ReadWhole(self);
    exec::Runtime::Get().faults(value.buffer->buffer().device()).Raise();
    std::array<char, 16> bytes{};
    value.buffer->buffer().CopyToHost(bytes.data());
    return FromBytes(bytes.data(), self.scalar_type());
  });
}

bool Equal(const at::Tensor& self, const at::Tensor& other) {
  TORCH_CHECK(self.device() == other.device(),
              "Cannot compare two tensors on different devices. Got: ", self.device(), " and ",
              other.device());
  TORCH_CHECK(self.scalar_type() == other.scalar_type(), "Expected object of data type ",
              self.scalar_type(), " but got data type ", other.scalar_type(),
              " for argument 'other'");
  if (self.sizes() != other.sizes()) return false;
  if (self.numel() == 0) return true;
  return at::eq(self, other).all().item<bool>();
}

at::Tensor MaskedSelect(const at::Tensor& self, const at::Tensor& mask) {
  TORCH_CHECK(mask.scalar_type() == at::kBool,
              "masked_select: expected BoolTensor for mask, but got ", mask.scalar_type());
  const auto both = at::expand_outplace(mask, self);
  const at::Tensor chosen = *std::get<0>(both);
  const at::Tensor values = *std::get<1>(both);
  if (values.dim() == 0) return MaskedSelect(values.unsqueeze(0), chosen.unsqueeze(0));
  return at::index(values, {std::optional<at::Tensor>(chosen)});
}

at::Tensor& MaskedSelectOut(const at::Tensor& self, const at::Tensor& mask, at::Tensor& out) {
  TORCH_CHECK(out.scalar_type() == self.scalar_type(),
              "masked_select(): self and result must have the same scalar type");
  const at::Tensor result = MaskedSelect(self, mask);
  at::native::resize_output(out, result.sizes());
  return out.copy_(result);
}

at::Tensor& NonzeroOut(const at::Tensor& self, at::Tensor& out) {
  TORCH_CHECK(out.scalar_type() == at::kLong,
              "nonzero: Expected out tensor to have scalar type Long but got scalar type ",
              out.scalar_type());
  TORCH_CHECK(out.device() == self.device(), "nonzero: out is on ", out.device(), ", self on ",
              self.device());
  const at::Tensor result = at::nonzero(self);
  at::native::resize_output(out, result.sizes());
  return out.copy_(result);
}

void RecordStream(at::Tensor& /*self*/, c10::Stream /*stream*/) {}

}  // namespace

void RegisterCopies() {
  static auto* library = new torch::Library(torch::Library::IMPL, "aten",
                                            c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
  library->impl("_copy_from", TORCH_FN(CopyFrom));
  library->impl("_copy_from_and_resize", TORCH_FN(CopyFromAndResize));
  library->impl("_local_scalar_dense", TORCH_FN(ReadScalar));
  library->impl("equal", TORCH_FN(Equal));
  library->impl("masked_select", TORCH_FN(MaskedSelect));
  library->impl("masked_select.out", TORCH_FN(MaskedSelectOut));
  library->impl("nonzero.out", TORCH_FN(NonzeroOut));
  library->impl("record_stream", TORCH_FN(RecordStream));
  // Without these PyTorch's conjugation and negation fallbacks call each other without end.
  for (const auto key : {c10::DispatchKey::Conjugate, c10::DispatchKey::Negative}) {
    auto* lazy = new torch::Library(torch::Library::IMPL, "aten", key, __FILE__, __LINE__);
    lazy->impl("_copy_from", torch::CppFunction::makeFallthrough());
  }
}

}  // namespace tpjrt::aten
