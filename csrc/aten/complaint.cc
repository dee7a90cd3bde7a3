#include "aten/complaint.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

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

}  // namespace

namespace {

bool HasCpuKernel(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(c10::DispatchKey::CPU) ||
         op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd);
}

c10::Stack CallOnCpu(const c10::OperatorHandle& op, at::ArrayRef<c10::IValue> arguments,
                     bool shrink) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const c10::impl::ExcludeDispatchKeyGuard no_python(c10::python_ks);
  Twins twins(c10::kCPU, shrink);
  c10::Stack stack;
  const size_t count = op.schema().arguments().size();
  for (size_t i = 0; i < count; ++i) stack.push_back(twins.Of(arguments[i]));
  op.callBoxed(stack);
  return stack;
}

}  // namespace

void ThrowCpuComplaint(const c10::OperatorHandle& op, at::ArrayRef<c10::IValue> arguments) {
  if (Elements(arguments) > kLargestTry || !HasCpuKernel(op)) return;
  CallOnCpu(op, arguments, /*shrink=*/false);
}

std::vector<c10::ScalarType> TryOnCpu(const c10::OperatorHandle& op,
                                      at::ArrayRef<c10::IValue> arguments, bool shrink) {
  std::vector<c10::ScalarType> dtypes;
  if (!HasCpuKernel(op)) return dtypes;
  for (const c10::IValue& value : CallOnCpu(op, arguments, shrink)) {
    if (value.isTensor() && value.toTensor().defined()) {
      dtypes.push_back(value.toTensor().scalar_type());
    }
  }
  return dtypes;
}

}  // namespace tpjrt::aten
