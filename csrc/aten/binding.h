// One dispatcher overload served by one row: which arguments it has and where results go.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>
#include <vector>

#include "lower/registry.h"

namespace tpjrt::aten {

enum class Variant { kFunctional, kInplace, kOut };

// Where the lowering's values go, in order: a new tensor, or the storage of an argument (all
// entries of a list argument).
struct Target {
  int argument = -1;       // -1: a new tensor, or a list of them where the schema returns one
  bool is_return = false;  // also returned by the op
  // A result of the functional operator, of which its meta kernel speaks.
  bool is_result = true;
};

struct Binding;
// What some calls need on the host before they are keyed; may change the arguments on the stack.
using PrepareFn = void (*)(const Binding& binding, c10::Stack* stack);

struct Binding {
  Variant variant = Variant::kFunctional;
  int row = -1;
  const lower::RegisteredRow* registered = nullptr;
  c10::OperatorHandle op;
  // The operator whose meta kernel speaks for this one: itself, but for PyTorch's overrideable
  // ones.
  c10::OperatorHandle meta;
  // The functional overload of an in-place or out= one: its meta kernel says the result's type.
  std::optional<c10::OperatorHandle> functional;
  std::vector<lower::SchemaArg> arguments;  // this overload's, in order; out arguments last
  std::vector<Target> targets;
  bool returns_list = false;  // one value on the stack for all targets
  std::vector<bool> written;  // per argument
  int draws_per_element = 0;
  bool own_use =
      false;  // called by the glue, not registered: PyTorch's kernel chooses devices first
  bool convolves = false;   // a convolution or its backward: the memory format rule is the device's
  int index_argument = -1;  // of type Tensor?[] named "indices"
  PrepareFn prepare = nullptr;

  const std::string& name() const { return name_; }
  explicit Binding(c10::OperatorHandle handle);

 private:
  std::string name_;
};

// All overloads that the rows serve. Throws when a row's schema is not PyTorch's.
std::vector<Binding> MakeBindings();

}  // namespace tpjrt::aten
