#include "aten/storage_resize.h"

#include "aten/storage.h"
#include "exec/flat_resize.h"

namespace tpjrt::aten {
namespace {

// A flat type of `nbytes` in the buffer's dtype, or in bytes where that does not divide.
const exec::PhysicalType* FlatType(DType dtype, int64_t nbytes) {
  const auto item = static_cast<int64_t>(ItemSize(dtype));
  const bool divides = nbytes % item == 0;
  const int64_t dims[] = {divides ? nbytes / item : nbytes};
  return exec::InternType(divides ? dtype : DType::kU8, dims);
}

}  // namespace

void ResizeStorage(c10::StorageImpl* storage, int64_t nbytes) {
  StorageContext* old = ContextOf(storage);
  TORCH_CHECK(old != nullptr, "resize of a storage that is not on this device");
  exec::BufferRef buffer;
  const exec::PhysicalType* type = nullptr;
  {
    const std::lock_guard lock(old->mutex);
    type = FlatType(old->type->dtype, nbytes);
    TORCH_CHECK(!old->buffer || type->dtype == old->type->dtype || nbytes == 0, "a storage of ",
                Name(old->type->dtype), " elements cannot be resized to ", nbytes, " bytes");
    if (old->buffer && nbytes > 0) {
      buffer = exec::ResizeFlat(old->buffer, *old->type, *type, old->device);
    }
  }
  storage->set_data_ptr_noswap(MakeDataPtr(old->device, nbytes, type, std::move(buffer)));
  storage->set_nbytes(nbytes);
}

}  // namespace tpjrt::aten
