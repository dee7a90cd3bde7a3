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
  int argument = -1;       // -1: a new tensor
  bool is_return = false;  // also returned by the op
};

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
  std::vector<bool> written;  // per argument
  int draws_per_element = 0;
  bool own_use =
      false;  // called by the glue, not registered: PyTorch's kernel chooses devices first
  bool convolves = false;   // a convolution or its backward: the memory format rule is the device's
  int index_argument = -1;  // of type Tensor?[] named "indices"

  const std::string& name() const { return name_; }
  explicit Binding(c10::OperatorHandle handle);

 private:
  std::string name_;
};

// All overloads that the rows serve. Throws when a row's schema is not PyTorch's.
std::vector<Binding> MakeBindings();

}  // namespace tpjrt::aten
