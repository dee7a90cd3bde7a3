// The boxed kernel of one bound overload: key, look up (or make) the program, execute, wrap
// results.
#pragma once

#include <ATen/core/boxing/OperatorKernel.h>

#include "aten/entry.h"
#include "ir/key.h"

namespace tpjrt::aten {

class OpKernel final : public c10::OperatorKernel {
 public:
  explicit OpKernel(Binding binding) : binding_(std::move(binding)) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack* stack);

  const Binding& binding() const { return binding_; }

 private:
  void Run(c10::Stack* stack);
  void Finish(const Entry& entry, Call& call, int device, std::vector<exec::BufferRef>& results,
              c10::Stack* stack);
  void ReportFaults(exec::BufferRef report, int device);
  void ResizeOutputs(const Entry& entry, Call& call);

  Binding binding_;
  ir::KeyMap<Entry> entries_;
};

// Registers every binding's kernel for the device. Called once, when the module is imported.
void RegisterOps();

// A row that a kernel of the glue wraps to check its arguments at every call.
bool IsCheckedFirst(const std::string& name);

// Runs a row that PyTorch's own kernel or the glue's wraps ("aten::copy_"): the stack holds its
// arguments.
void CallOwn(const std::string& name, c10::Stack* stack);

}  // namespace tpjrt::aten
