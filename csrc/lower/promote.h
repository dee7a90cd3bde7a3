// torch.result_type: tensors with dims come before 0-dim tensors, these before Python numbers; a
// weaker operand matters only when its category (bool, integer, float, complex) is higher.
#pragma once

#include <optional>

#include "base/dtype.h"
#include "ir/node.h"

namespace tpjrt::lower {

class Promotion {
 public:
  void AddTensor(DType dtype, int64_t rank);
  // A number whose own type is dtype (bool, int64, float64, complex128): takes the default of its
  // category.
  void AddNumber(DType dtype);
  void AddScalar(const ir::Scalar& scalar);

  // Throws kInvalidArgument when nothing was added.
  DType Result() const;

 private:
  static void Join(std::optional<DType>& into, DType dtype);
  std::optional<DType> dims_, zero_dim_, number_;
};

}  // namespace tpjrt::lower
