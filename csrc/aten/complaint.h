// PyTorch's own words for a bad call. The meta kernels of some ops are Python decompositions with
// texts (and exception types) of their own, and a lowering sees only its own contract: when a call
// cannot be served, the CPU's kernel is asked, on tensors of the same types, what is wrong with it.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <vector>

namespace tpjrt::aten {

// Throws the CPU's error for this call; returns when the CPU has none (or the tensors are too large
// to try).
void ThrowCpuComplaint(const c10::OperatorHandle& op, at::ArrayRef<c10::IValue> arguments);

// Asks the CPU whether it takes arguments of these types at all, with tensors of one element or
// none, so that the answer costs nothing: the meta kernels let many calls pass that the CPU
// refuses. For ops whose errors do not depend on the tensors' values. Throws the CPU's error;
// returns the dtypes of the results.
std::vector<c10::ScalarType> TryOnCpu(const c10::OperatorHandle& op,
                                      at::ArrayRef<c10::IValue> arguments, bool shrink);

}  // namespace tpjrt::aten
