// One call of a bound operator: its tensors, and the key that says which program serves it.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>
#include <c10/util/SmallVector.h>

#include "aten/binding.h"
#include "aten/tensor_use.h"

namespace tpjrt::aten {

class Call {
 public:
  // Reads `binding`'s arguments off the top of the stack, which stays as it is. Throws for tensors
  // of other devices and for writes to tensors whose elements overlap.
  Call(const Binding& binding, c10::Stack& stack);

  const Binding& binding() const { return binding_; }
  const ir::KeyBuilder& key() const { return key_; }
  const c10::IValue& argument(size_t i) const { return arguments_[i]; }
  at::ArrayRef<c10::IValue> arguments() const { return arguments_; }
  TensorUses& uses() { return uses_; }
  const TensorUses& uses() const { return uses_; }
  // A tensor argument is lazily conjugated or negated: PyTorch leaves some ops to handle that
  // themselves. Its value must be made first.
  bool has_lazy_bits() const { return has_lazy_bits_; }
  int device() const { return device_; }  // -1: no device tensor among the arguments

 private:
  void AddArgument(const lower::SchemaArg& argument, int index);
  void AddTensor(const at::Tensor& tensor, int index, bool written);
  void CheckDevice(int device, const at::Tensor& tensor, int index);
  void AddNumber(const c10::IValue& value, size_t index);
  void AddScalar(const c10::IValue& value, bool is_static);
  void AddInts(const c10::IValue& value);

  const Binding& binding_;
  at::ArrayRef<c10::IValue> arguments_;
  ir::KeyBuilder key_;
  TensorUses uses_;
  int device_ = -1;
  bool writes_ = false;
  bool has_lazy_bits_ = false;
};

// Replaces lazily conjugated or negated tensors among the arguments on the stack by their values.
void ResolveLazyBits(const Binding& binding, c10::Stack* stack);

// An int or SymInt (a SymInt is specialised to its value), or a list of them.
int64_t IntOf(const c10::IValue& value);
std::vector<int64_t> IntsOf(const c10::IValue& value);

}  // namespace tpjrt::aten
