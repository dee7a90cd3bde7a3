#include "aten/complaint.h"

#include <ATen/ATen.h>

#include "aten/twins.h"

namespace tpjrt::aten {
namespace {

constexpr int64_t kLargestTry = int64_t{1} << 24;  // elements: an error is not worth gigabytes

int64_t Elements(at::ArrayRef<c10::IValue> arguments) {
  int64_t total = 0;
  for (const c10::IValue& value : arguments) {
    if (value.isTensor() && value.toTensor().defined()) total += value.toTensor().numel();
    if (!value.isTensorList()) continue;
    for (const at::Tensor& tensor : value.toTensorVector()) total += tensor.numel();
  }
  return total;
}

bool HasCpuKernel(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(c10::DispatchKey::CPU) ||
         op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd);
}

}  // namespace

void ThrowCpuComplaint(const c10::OperatorHandle& op, at::ArrayRef<c10::IValue> arguments) {
  if (Elements(arguments) > kLargestTry || !HasCpuKernel(op)) return;
  RunOnTwins(op, arguments, Twins(c10::kCPU));
}

std::vector<c10::ScalarType> TryOnCpu(const c10::OperatorHandle& op,
                                      at::ArrayRef<c10::IValue> arguments, bool shrink) {
  std::vector<c10::ScalarType> dtypes;
  if (!HasCpuKernel(op)) return dtypes;
  for (const c10::IValue& value : RunOnTwins(op, arguments, Twins(c10::kCPU, shrink))) {
    if (value.isTensor() && value.toTensor().defined()) {
      dtypes.push_back(value.toTensor().scalar_type());
    }
  }
  return dtypes;
}

}  // namespace tpjrt::aten
