// Interned buffer types: one object per distinct (dtype, dims) for the life of the process, so that
// comparing and keying by type is comparing a pointer. The set only grows, by the number of
// distinct shapes a program uses.
#pragma once

#include <span>

#include "hlo/type.h"

namespace tpjrt::exec {

struct PhysicalType {
  DType dtype;
  hlo::Dims dims;
  int64_t num_elements;
  int64_t nbytes;
};

// Thread-safe.
const PhysicalType* InternType(DType dtype, std::span<const int64_t> dims);

}  // namespace tpjrt::exec
