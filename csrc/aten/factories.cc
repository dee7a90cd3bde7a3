// Kernels that make or re-geometry tensors without computing: empty, views, set_, resize_.
#include <ATen/EmptyTensor.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>

#include "aten/allocator.h"
#include "aten/device.h"
#include "aten/dtypes.h"
#include "aten/errors.h"
#include "aten/register.h"
#include "aten/storage.h"
#include "aten/storage_resize.h"
#include "exec/runtime.h"

namespace tpjrt::aten {
namespace {

using c10::SymIntArrayRef;

int DeviceOf(std::optional<c10::Device> device) {
  const bool given = device.has_value() && device->has_index();
  return CheckedDevice(given ? device->index() : -1);
}

void CheckOptions(std::optional<c10::Layout> layout, std::optional<bool> pin_memory) {
  TORCH_CHECK_NOT_IMPLEMENTED(!layout || *layout == c10::kStrided, "layout ", *layout,
                              " is not supported on this device: only strided tensors are");
  TORCH_CHECK(!pin_memory || !*pin_memory, "Only dense CPU tensors can be pinned");
}

at::Tensor MakeEmpty(at::IntArrayRef sizes, at::IntArrayRef strides, c10::ScalarType dtype,
                     int device) {
  for (int64_t size : sizes) {
    TORCH_CHECK(size >= 0, "Trying to create tensor with negative dimension ", size, ": ", sizes);
  }
  at::detail::computeStorageNbytesContiguous(sizes, c10::elementSize(dtype));  // throws on overflow
  if (const auto* type = DenseType(dtype, sizes, strides)) {
    return MakeTensor(device, dtype, sizes, strides, type);
  }
  // Gaps or overlaps: a flat storage that spans the geometry.
  const auto item = static_cast<int64_t>(ItemSize(ToDType(dtype)));
  const auto bytes = static_cast<int64_t>(
      at::detail::computeStorageNbytes(sizes, strides, static_cast<size_t>(item)));
  const int64_t dims[] = {bytes / item};
  return MakeTensor(device, dtype, sizes, strides, exec::InternType(ToDType(dtype), dims));
}

at::Tensor Empty(SymIntArrayRef symbolic_sizes, std::optional<c10::ScalarType> dtype,
                 std::optional<c10::Layout> layout, std::optional<c10::Device> device,
                 std::optional<bool> pin_memory, std::optional<c10::MemoryFormat> memory_format) {
  return Guarded([&] {
    CheckOptions(layout, pin_memory);
    const auto sizes = C10_AS_INTARRAYREF_SLOW(symbolic_sizes);
    const auto format = memory_format.value_or(c10::MemoryFormat::Contiguous);
    std::vector<int64_t> strides = RowMajorStrides(sizes);
    if (format == c10::MemoryFormat::ChannelsLast) {
      TORCH_CHECK(sizes.size() == 4, "required rank 4 tensor to use channels_last format");
      strides = c10::get_channels_last_strides_2d(sizes);
    } else if (format == c10::MemoryFormat::ChannelsLast3d) {
      TORCH_CHECK(sizes.size() == 5, "required rank 5 tensor to use channels_last_3d format");
      strides = c10::get_channels_last_strides_3d(sizes);
    } else {
      TORCH_CHECK(format == c10::MemoryFormat::Contiguous, "unsupported memory format ", format);
    }
    return MakeEmpty(sizes, strides, c10::dtype_or_default(dtype), DeviceOf(device));
  });
}

// Zeros without memory: autograd's "no gradient here". PyTorch makes real ones where it must.
at::Tensor ZeroTensor(at::IntArrayRef sizes, std::optional<c10::ScalarType> dtype,
                      std::optional<c10::Layout> layout, std::optional<c10::Device> device,
                      std::optional<bool> pin_memory) {
  return Guarded([&] {
    CheckOptions(layout, pin_memory);
    at::native::ZeroTensorAllocator allocator(
        c10::Device(kDevice, static_cast<c10::DeviceIndex>(DeviceOf(device))));
    const c10::DispatchKeySet keys({c10::DispatchKey::PrivateUse1, c10::DispatchKey::ZeroTensor});
    return at::detail::empty_generic(sizes, &allocator, keys, c10::dtype_or_default(dtype),
                                     std::nullopt);
  });
}

at::Tensor EmptyStrided(SymIntArrayRef sizes, SymIntArrayRef strides,
                        std::optional<c10::ScalarType> dtype, std::optional<c10::Layout> layout,
                        std::optional<c10::Device> device, std::optional<bool> pin_memory) {
  return Guarded([&] {
    CheckOptions(layout, pin_memory);
    at::native::check_size_nonnegative(C10_AS_INTARRAYREF_SLOW(sizes));
    return MakeEmpty(C10_AS_INTARRAYREF_SLOW(sizes), C10_AS_INTARRAYREF_SLOW(strides),
                     c10::dtype_or_default(dtype), DeviceOf(device));
  });
}

// Gives the tensor a geometry and grows its storage when the geometry needs it.
void SetGeometry(const at::Tensor& self, at::IntArrayRef sizes, at::IntArrayRef strides) {
  auto* impl = self.unsafeGetTensorImpl();
  impl->set_sizes_and_strides(sizes, strides);
  const size_t needed = at::detail::computeStorageNbytes(
      sizes, strides, self.dtype().itemsize(), static_cast<size_t>(self.storage_offset()));
  if (self.numel() > 0 && needed > self.storage().nbytes()) {
    TORCH_CHECK(self.storage().resizable(), "Trying to resize storage that is not resizable");
    ResizeStorage(self.storage().unsafeGetStorageImpl(), static_cast<int64_t>(needed));
  }
}

const at::Tensor& Resize(const at::Tensor& self, SymIntArrayRef symbolic_sizes,
                         std::optional<c10::MemoryFormat> memory_format) {
  return Guarded([&]() -> const at::Tensor& {
    const auto sizes = C10_AS_INTARRAYREF_SLOW(symbolic_sizes);
    if (self.sizes() != sizes) SetGeometry(self, sizes, RowMajorStrides(sizes));
    if (memory_format) self.unsafeGetTensorImpl()->empty_tensor_restride(*memory_format);
    return self;
  });
}

at::Tensor& SetStorageOffset(at::Tensor& self, at::Storage source, c10::SymInt offset,
                             SymIntArrayRef sizes, SymIntArrayRef strides) {
  return Guarded([&]() -> at::Tensor& {
    const auto plain_sizes = C10_AS_INTARRAYREF_SLOW(sizes);
    const auto plain_strides = C10_AS_INTARRAYREF_SLOW(strides);
    at::native::checkSetStorage(self, std::move(source), offset.guard_int(__FILE__, __LINE__),
                                plain_sizes, plain_strides);
    self.unsafeGetTensorImpl()->set_storage_offset(offset.guard_int(__FILE__, __LINE__));
    const bool given = plain_strides.data() != nullptr;
    SetGeometry(self, plain_sizes,
                given ? plain_strides : at::IntArrayRef(RowMajorStrides(plain_sizes)));
    return self;
  });
}

at::Tensor& SetStorage(at::Tensor& self, at::Storage source) {
  const auto item = static_cast<int64_t>(self.dtype().itemsize());
  const auto count = c10::SymInt(static_cast<int64_t>(source.nbytes()) / item);
  return SetStorageOffset(self, std::move(source), 0, {count}, {});
}

at::Tensor& SetNothing(at::Tensor& self) {
  return Guarded([&]() -> at::Tensor& {
    const auto device = c10::DeviceIndex(self.device().index());
    const c10::DeviceGuard guard(c10::Device(kDevice, device));
    at::Storage empty(c10::Storage::use_byte_size_t(), 0, GetAllocator()->allocate(0),
                      GetAllocator(), true);
    return SetStorageOffset(self, std::move(empty), 0, {c10::SymInt(0)}, {});
  });
}

at::Tensor AsStrided(const at::Tensor& self, at::IntArrayRef sizes, at::IntArrayRef strides,
                     std::optional<int64_t> offset) {
  return at::native::as_strided_tensorimpl(self, sizes, strides, offset);
}

}  // namespace

void RegisterFactories() {
  static auto* library = new torch::Library(torch::Library::IMPL, "aten",
                                            c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
  library->impl("empty.memory_format", TORCH_FN(Empty));
  library->impl("empty_strided", TORCH_FN(EmptyStrided));
  library->impl("_efficientzerotensor", TORCH_FN(ZeroTensor));
  library->impl("resize_", TORCH_FN(Resize));
  library->impl("set_.source_Storage_storage_offset", TORCH_FN(SetStorageOffset));
  library->impl("set_.source_Storage", TORCH_FN(SetStorage));
  library->impl("set_.source_Tensor", TORCH_FN(at::native::set_tensor_));
  library->impl("set_", TORCH_FN(SetNothing));
  library->impl("as_strided", TORCH_FN(AsStrided));
  library->impl("view", TORCH_FN(at::native::view));
  library->impl("_reshape_alias", TORCH_FN(at::native::_reshape_alias));
  library->impl("unfold", TORCH_FN(at::native::unfold));
  library->impl("view_as_real", TORCH_FN(at::native::view_as_real));
  library->impl("view_as_complex", TORCH_FN(at::native::view_as_complex));
}

}  // namespace tpjrt::aten
