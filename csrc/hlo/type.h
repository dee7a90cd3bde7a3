// The type of an array: element type and static dimensions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace tpjrt::hlo {

using Dims = std::vector<int64_t>;

int64_t NumElements(const Dims& dims);
std::string ToString(const Dims& dims);  // "[2, 3]"

struct Type {
  DType dtype = DType::kF32;
  Dims dims;

  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  bool operator==(const Type&) const = default;
};

std::string ToHlo(const Type& type);     // "tensor<2x3xf32>"
std::string ToString(const Type& type);  // "float32[2, 3]"

}  // namespace tpjrt::hlo
