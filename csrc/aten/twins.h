// A call's arguments on another device: tensors of the same types and geometry, without the
// content.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>

#include <utility>
#include <vector>

namespace tpjrt::aten {

// One twin per device tensor; the same tensor twice stays the same. CPU scalars stay as they are.
class Twins {
 public:
  // `shrink` makes every dim of more than one element empty: types and broadcasting stay.
  explicit Twins(c10::DeviceType device, bool shrink = false) : device_(device), shrink_(shrink) {}
  at::Tensor Of(const at::Tensor& tensor);
  c10::IValue Of(const c10::IValue& value);

 private:
  c10::DeviceType device_;
  bool shrink_;
  std::vector<std::pair<const c10::TensorImpl*, at::Tensor>> twins_;
};

// Runs `op` on twins of the first arguments (as many as it takes), below autograd and Python's
// modes; returns its results. Throws what the op throws.
c10::Stack RunOnTwins(const c10::OperatorHandle& op, at::ArrayRef<c10::IValue> arguments,
                      Twins twins);

}  // namespace tpjrt::aten
