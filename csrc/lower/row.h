// A row: everything the project knows about one ATen op, in one place. The tables are in the files
// of the op families (families.h); registration, docs, audits and tests come from them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lower/context.h"

namespace tpjrt::lower {

// "This case is not supported" is a value: the caller falls back to the CPU and counts it.
struct Unsupported {
  std::string reason;
};

// What a lowering returns: one value per result, in order (then one per argument in `also_writes`),
// each with the dims of Context::Result(i); a different dtype is converted by the caller only where
// the row writes into an existing tensor (in-place, out=). For functional calls it must match.
class Outcome {
 public:
  Outcome(Value value) : content_(std::vector<Value>{value}) {}        // NOLINT
  Outcome(std::vector<Value> values) : content_(std::move(values)) {}  // NOLINT
  Outcome(std::initializer_list<Value> values) : content_(std::vector<Value>(values)) {}
  Outcome(Unsupported unsupported) : content_(std::move(unsupported)) {}  // NOLINT

  bool ok() const { return std::holds_alternative<std::vector<Value>>(content_); }
  const std::vector<Value>& values() const { return std::get<std::vector<Value>>(content_); }
  const std::string& reason() const { return std::get<Unsupported>(content_).reason; }

 private:
  std::variant<std::vector<Value>, Unsupported> content_;
};

using LowerFn = Outcome (*)(Context&);

// Whether the number `value` shapes the program: `x ** 2` is x * x, `alpha` 1 costs nothing.
using IsSpecialFn = bool (*)(double value);

struct Traits {
  // Names of Scalar/float arguments whose value shapes the program, comma separated.
  std::string_view static_scalars = {};
  // Names of Scalar/float arguments that are part of the program only when `is_special` says so of
  // their value; all other values share one program that takes the number at run time.
  std::string_view special_scalars = {};
  IsSpecialFn is_special = nullptr;
  // Names of int, int[] and Scalar[] arguments that are run-time inputs; by default those are part
  // of the program. A list's length always is.
  std::string_view runtime_numbers = {};
  // Scalar arguments that must fit the result's dtype ("value cannot be converted ... without
  // overflow").
  std::string_view checked_scalars = {};
  // Arguments the op writes beside its results although the schema may not say so
  // ("running_mean,running_var"): the lowering returns their new values after the results; an
  // argument that is None is left out.
  std::string_view also_writes = {};
  // Tensor arguments that PyTorch wants in one dtype ("self,mat2"); its meta kernels do not all
  // check.
  std::string_view same_dtype = {};
  // The CPU's results differ in size from what the meta kernel says: the lowering's are right.
  bool own_result_sizes = false;
  // Draws random numbers: the generator's offset advances by this many draws per result element.
  int draws_per_element = 0;
  // The result is padded to its largest size along dim 0 and one more value (i64, rank 0) is
  // returned last: the true extent, read by the host. The meta kernel is not asked.
  bool counted = false;
  // The row that this one applies to each entry of its Tensor[] (and Scalar[]) arguments, in place
  // of a lowering ("_foreach_add.List" is "add.Tensor"). Arguments match by position; a number may
  // stand for a tensor.
  std::string_view each = {};
  // For captured graphs only: eager calls are PyTorch's own kernels (views, factories).
  bool captured_only = false;
};

// `schema` is the FUNCTIONAL schema as PyTorch prints it. In-place (name_) and out= overloads with
// the same argument types are found and registered by the glue. Ops that exist only in place or
// only as out= are listed with that schema: the lowering then returns the new value of each written
// argument.
struct Row {
  std::string_view schema;
  LowerFn lower;  // nullptr where `traits.each` says what is done
  Traits traits = {};
};

}  // namespace tpjrt::lower
