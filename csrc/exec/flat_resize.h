// A buffer's elements as a flat buffer of another length: cut, or padded with zeros.
#pragma once

#include "exec/device_buffer.h"
#include "exec/physical_type.h"

namespace tpjrt::exec {

// `to` has the dtype of `from` and rank 1.
BufferRef ResizeFlat(const BufferRef& buffer, const PhysicalType& from, const PhysicalType& to,
                     int device);

}  // namespace tpjrt::exec
