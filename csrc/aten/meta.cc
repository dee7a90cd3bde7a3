#include "aten/meta.h"

#include <ATen/ATen.h>

#include "aten/storage.h"
#include "aten/twins.h"

namespace tpjrt::aten {
namespace {

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

}  // namespace

std::optional<MetaAnswer> AskMeta(const c10::OperatorHandle& op,
                                  at::ArrayRef<c10::IValue> arguments, c10::DeviceType device) {
  try {
    MetaAnswer answer;
    for (const c10::IValue& value : RunOnTwins(op, arguments, Twins(device))) {
      AppendValue(value, &answer.results);
    }
    return answer;
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
