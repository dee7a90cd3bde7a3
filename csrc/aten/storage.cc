#include "aten/storage.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "aten/address_range.h"
#include "aten/allocator.h"
#include "aten/dtypes.h"

namespace tpjrt::aten {

void DeleteContext(void* context) { delete static_cast<StorageContext*>(context); }

StorageContext::StorageContext(int device_index, int64_t bytes, const exec::PhysicalType* physical)
    : Slot(device_index, bytes, physical),
      address(TakeAddresses(static_cast<size_t>(bytes), this)) {}

StorageContext::~StorageContext() { ReturnAddresses(address, static_cast<size_t>(nbytes)); }

exec::Slot& SlotOf(const at::TensorBase& tensor) {
  TORCH_CHECK(tensor.has_storage(), "a tensor without storage was used on this device");
  auto* context = ContextOf(tensor.storage().unsafeGetStorageImpl());
  if (context == nullptr && tensor.device().type() == kDevice) [[unlikely]] {
    context = static_cast<StorageContext*>(OwnerOf(tensor.storage().data()));
  }
  TORCH_CHECK(tensor.device().type() == kDevice, "expected a tensor on the device, got one on ",
              tensor.device());
  TORCH_CHECK(context != nullptr,
              "a tensor on the device was made around an address where no storage of the device "
              "begins (DLPack of a view does that): pass a clone of the view");
  return *context;
}

c10::DataPtr MakeDataPtr(int device, int64_t nbytes, const exec::PhysicalType* type,
                         exec::BufferRef buffer) {
  auto* context = new StorageContext(device, nbytes, type);
  context->buffer = std::move(buffer);
  const auto index = static_cast<c10::DeviceIndex>(device);
  return {context->address, context, &DeleteContext, c10::Device(kDevice, index)};
}

at::Tensor MakeTensor(int device, c10::ScalarType dtype, at::IntArrayRef sizes,
                      at::IntArrayRef strides, const exec::PhysicalType* type,
                      exec::BufferRef buffer) {
  const int64_t nbytes = type->nbytes;
  auto storage = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), nbytes,
      MakeDataPtr(device, nbytes, type, std::move(buffer)), GetAllocator(), /*resizable=*/true);
  auto tensor = at::detail::make_tensor_base<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
      c10::scalarTypeToTypeMeta(dtype));
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  return at::Tensor(std::move(tensor));
}

std::vector<int64_t> RowMajorStrides(at::IntArrayRef sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(sizes[i], 1);
  }
  return strides;
}

bool DenseOrder(at::IntArrayRef sizes, at::IntArrayRef strides, std::vector<int64_t>* order) {
  order->resize(sizes.size());
  std::iota(order->begin(), order->end(), 0);
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return true;
  // A dim of size 1 keeps its place: its stride says nothing.
  std::vector<int64_t> real;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != 1) real.push_back(static_cast<int64_t>(i));
  }
  std::stable_sort(real.begin(), real.end(),
                   [&](int64_t a, int64_t b) { return strides[a] > strides[b]; });
  int64_t expected = 1;
  for (size_t i = real.size(); i-- > 0;) {
    if (strides[real[i]] != expected) return false;
    expected *= sizes[real[i]];
  }
  size_t next = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    (*order)[i] = sizes[i] == 1 ? static_cast<int64_t>(i) : real[next++];
  }
  return true;
}

const exec::PhysicalType* DenseType(c10::ScalarType dtype, at::IntArrayRef sizes,
                                    at::IntArrayRef strides) {
  std::vector<int64_t> order;
  if (!DenseOrder(sizes, strides, &order)) return nullptr;
  std::vector<int64_t> dims;
  for (int64_t dim : order) dims.push_back(sizes[static_cast<size_t>(dim)]);
  return exec::InternType(ToDType(dtype), dims);
}

std::vector<int64_t> LayoutOf(at::IntArrayRef sizes, at::IntArrayRef strides) {
  std::vector<int64_t> order;
  if (!DenseOrder(sizes, strides, &order) || std::is_sorted(order.begin(), order.end())) return {};
  return order;
}

at::Tensor ResolvedValue(const at::Tensor& tensor) {
  at::Tensor plain = tensor;
  if (plain.is_conj()) plain = at::conj_physical(plain._conj());
  if (plain.is_neg()) plain = at::neg(plain._neg_view());
  return plain;
}

}  // namespace tpjrt::aten
