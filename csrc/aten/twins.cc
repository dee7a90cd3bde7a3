#include "aten/twins.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "aten/storage.h"

namespace tpjrt::aten {

at::Tensor Twins::Of(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.device().type() != kDevice) return tensor;
  for (const auto& [original, twin] : twins_) {
    if (original == tensor.unsafeGetTensorImpl()) return twin;
  }
  const auto options = tensor.options().device(device_);
  at::Tensor twin;
  if (shrink_) {
    std::vector<int64_t> sizes = tensor.sizes().vec();
    for (int64_t& size : sizes) size = size > 1 ? 0 : size;
    twin = at::ones(sizes, options);  // ones: an integer division by them is fine
  } else {
    twin = at::empty_strided(tensor.sizes(), tensor.strides(), options);
    if (device_ == c10::kCPU) twin.zero_();
  }
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

c10::Stack RunOnTwins(const c10::OperatorHandle& op, at::ArrayRef<c10::IValue> arguments,
                      Twins twins) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const c10::impl::ExcludeDispatchKeyGuard no_python(c10::python_ks);
  c10::Stack stack;
  const size_t count = op.schema().arguments().size();
  for (size_t i = 0; i < count; ++i) stack.push_back(twins.Of(arguments[i]));
  op.callBoxed(stack);
  return stack;
}

}  // namespace tpjrt::aten
