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

void ThrowCpuComplaint(const c10::OperatorHandle& op, at::ArrayRef<c10::IValue> arguments) {
  if (Elements(arguments) > kLargestTry) return;
  if (!op.hasKernelForDispatchKey(c10::DispatchKey::CPU) &&
      !op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd)) {
    return;
  }
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const c10::impl::ExcludeDispatchKeyGuard no_python(c10::python_ks);
  Twins twins(c10::kCPU);
  c10::Stack stack;
  const size_t count = op.schema().arguments().size();
  for (size_t i = 0; i < count; ++i) stack.push_back(twins.Of(arguments[i]));
  op.callBoxed(stack);
}

}  // namespace tpjrt::aten
