#include "aten/twins.h"

#include <ATen/ATen.h>

#include "aten/storage.h"

namespace tpjrt::aten {

at::Tensor Twins::Of(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.device().type() != kDevice) return tensor;
  for (const auto& [original, twin] : twins_) {
    if (original == tensor.unsafeGetTensorImpl()) return twin;
  }
  at::Tensor twin =
      at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(device_));
  if (device_ == c10::kCPU) twin.zero_();
  twins_.emplace_back(tensor.unsafeGetTensorImpl(), twin);
  return twin;
}

c10::IValue Twins::Of(const c10::IValue& value) {
  if (value.isTensor()) return Of(value.toTensor());
  if (value.isDevice()) return c10::Device(device_);
  if (value.isGenerator()) return {};  // nothing is drawn
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(Of(tensor));
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
      list.push_back(tensor ? std::optional(Of(*tensor)) : std::nullopt);
    }
    return list;
  }
  return value;
}

}  // namespace tpjrt::aten
