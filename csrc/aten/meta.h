// What PyTorch itself says an op returns: its meta kernel run on tensors without data.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <optional>
#include <vector>

namespace tpjrt::aten {

struct MetaResult {
  bool defined = true;            // a tensor
  std::optional<int64_t> number;  // an int result
  c10::ScalarType dtype = c10::ScalarType::Float;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
};

struct MetaAnswer {
  std::vector<MetaResult> results;  // tensor lists flattened
};

// Runs `op` with the first arguments of the call (as many as it takes) on the meta device. Shape
// and dtype errors are thrown with PyTorch's own text. Nothing when PyTorch has no meta kernel for
// it.
std::optional<MetaAnswer> AskMeta(const c10::OperatorHandle& op,
                                  at::ArrayRef<c10::IValue> arguments,
                                  c10::DeviceType device = c10::kMeta);

// The same for convolution_backward_overrideable, which has no meta kernel: each gradient is typed
// as what it is the gradient of.
MetaAnswer ConvolutionGradients(at::ArrayRef<c10::IValue> arguments);

}  // namespace tpjrt::aten
