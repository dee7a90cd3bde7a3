#include "hlo/type.h"

#include "base/error.h"

namespace tpjrt::hlo {

int64_t NumElements(const Dims& dims) {
  int64_t count = 1;
  for (int64_t dim : dims) {
    if (dim == 0) return 0;
    Require(!__builtin_mul_overflow(count, dim, &count), "too many elements in ", ToString(dims));
  }
  return count;
}

std::string ToString(const Dims& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(dims[i]);
  }
  return text + "]";
}

std::string ToHlo(const Type& type) {
  std::string text = "tensor<";
  for (int64_t dim : type.dims) text += std::to_string(dim) + "x";
  text += HloName(type.dtype);
  return text + ">";
}

std::string ToString(const Type& type) {
  return std::string(Name(type.dtype)) + ToString(type.dims);
}

}  // namespace tpjrt::hlo
