#include "aten/meta.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <mutex>

#include "aten/storage.h"
#include "aten/twins.h"

namespace tpjrt::aten {
namespace {

std::function<void()>& Loader() {
  static auto* loader = new std::function<void()>();
  return *loader;
}

void Append(const at::Tensor& tensor, std::vector<MetaResult>* results) {
  MetaResult result;
  result.defined = tensor.defined();
  if (result.defined) {
    result.dtype = tensor.scalar_type();
    result.sizes = tensor.sizes().vec();
    result.strides = tensor.strides().vec();
  }
  results->push_back(std::move(result));
}

void AppendValue(const c10::IValue& value, std::vector<MetaResult>* results) {
  if (value.isTensor()) {
    Append(value.toTensor(), results);
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) Append(tensor, results);
  } else if (value.isOptionalTensorList()) {
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
      if (tensor) Append(*tensor, results);
    }
  } else if (value.isInt()) {
    MetaResult result;
    result.defined = false;
    result.number = value.toInt();
    results->push_back(std::move(result));
  }
}

MetaAnswer Run(const c10::OperatorHandle& op, const c10::Stack& arguments) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const c10::impl::ExcludeDispatchKeyGuard no_python(c10::python_ks);
  c10::Stack stack = arguments;
  op.callBoxed(stack);
  MetaAnswer answer;
  for (const c10::IValue& value : stack) AppendValue(value, &answer.results);
  return answer;
}

}  // namespace

void SetMetaLoader(std::function<void()> loader) { Loader() = std::move(loader); }

std::optional<MetaAnswer> AskMeta(const c10::OperatorHandle& op,
                                  at::ArrayRef<c10::IValue> arguments, c10::DeviceType device) {
  Twins twins(device);
  c10::Stack stack;
  const size_t count = op.schema().arguments().size();
  for (size_t i = 0; i < count; ++i) stack.push_back(twins.Of(arguments[i]));
  try {
    return Run(op, stack);
  } catch (const c10::NotImplementedError&) {
    if (!Loader()) return std::nullopt;
  }
  static std::once_flag once;
  std::call_once(once, Loader());
  try {
    return Run(op, stack);
  } catch (const c10::NotImplementedError&) {
    return std::nullopt;
  }
}

MetaAnswer ConvolutionGradients(at::ArrayRef<c10::IValue> arguments) {
  const at::Tensor& grad_output = arguments[0].toTensor();
  const auto mask = arguments[9].toBoolList();
  MetaAnswer answer;
  for (size_t i = 0; i < 2; ++i) {
    Append(mask.get(i) ? arguments[i + 1].toTensor() : at::Tensor(), &answer.results);
    MetaResult& result = answer.results.back();
    result.strides = RowMajorStrides(result.sizes);
  }
  MetaResult bias;
  bias.defined = mask.get(2);
  bias.dtype = grad_output.scalar_type();
  bias.sizes = {grad_output.size(1)};
  bias.strides = {1};
  answer.results.push_back(std::move(bias));
  return answer;
}

}  // namespace tpjrt::aten
