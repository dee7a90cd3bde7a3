// Device storages and the slot behind each.
//
// A storage's DataPtr owns a StorageContext: the slot, plus the address range that stands for the
// memory. Tensors over it are ordinary TensorImpls.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Allocator.h>
#include <c10/core/Storage.h>

#include "exec/slot.h"

namespace tpjrt::aten {

inline constexpr auto kDevice = c10::DeviceType::PrivateUse1;

struct StorageContext : exec::Slot {
  StorageContext(int device, int64_t bytes, const exec::PhysicalType* type);
  ~StorageContext();
  void* address;
};

void DeleteContext(void* context);

// The context of a storage of ours; nullptr for any other, such as one that DLPack made around a
// pointer (its own context is not ours to read).
inline StorageContext* ContextOf(const c10::StorageImpl* storage) {
  const at::DataPtr& data = storage->data_ptr();
  if (data.get_deleter() != &DeleteContext) [[unlikely]]
    return nullptr;
  return static_cast<StorageContext*>(data.get_context());
}
// The slot of a device tensor. Throws for a tensor without storage or of another device.
exec::Slot& SlotOf(const at::TensorBase& tensor);

// A DataPtr over undefined content of this physical type, `nbytes` long.
c10::DataPtr MakeDataPtr(int device, int64_t nbytes, const exec::PhysicalType* type,
                         exec::BufferRef buffer = nullptr);

// A new tensor over its own storage. `sizes` and `strides` are dense in some dim order and `type`
// is the physical type of that order.
at::Tensor MakeTensor(int device, c10::ScalarType dtype, at::IntArrayRef sizes,
                      at::IntArrayRef strides, const exec::PhysicalType* type,
                      exec::BufferRef buffer = nullptr);

// The physical type of a dense tensor: its sizes by descending stride. Nothing for a geometry that
// is not dense.
const exec::PhysicalType* DenseType(c10::ScalarType dtype, at::IntArrayRef sizes,
                                    at::IntArrayRef strides);
std::vector<int64_t> RowMajorStrides(at::IntArrayRef sizes);
// The dim order of a dense geometry, outermost first; false if it is not dense.
bool DenseOrder(at::IntArrayRef sizes, at::IntArrayRef strides, std::vector<int64_t>* order);

// A dense geometry's dim order as a lowering's output layout: empty for row-major and for
// geometries that are not dense.
std::vector<int64_t> LayoutOf(at::IntArrayRef sizes, at::IntArrayRef strides);

// The tensor without lazy conjugation or negation: a new one where there was some.
at::Tensor ResolvedValue(const at::Tensor& tensor);

}  // namespace tpjrt::aten
