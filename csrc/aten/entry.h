// What is known about a call once its program exists: everything a hit needs, nothing is inferred
// again.
#pragma once

#include <c10/util/SmallVector.h>

#include <memory>
#include <string>
#include <vector>

#include "aten/call.h"
#include "exec/program_cache.h"
#include "lower/lowering.h"

namespace tpjrt::aten {

// One value the program returns, in the order of the binding's targets (lists flattened).
struct EntryTarget {
  int use = -1;  // >= 0: new content of this use's storage
  bool is_return = false;
  bool is_result = true;  // as Target's
  bool defined = true;    // false: left undefined (a gradient nobody asked for), or a number
  std::optional<int64_t> number;
  const exec::PhysicalType* type = nullptr;
  c10::ScalarType dtype = c10::ScalarType::Float;
  c10::SmallVector<int64_t, 6> sizes;
  c10::SmallVector<int64_t, 6> strides;
  // out=: the sizes the result has; the argument is resized to them before the call is keyed again.
  bool needs_resize = false;
};

struct Entry {
  std::string unsupported;  // not empty: the CPU serves this call
  exec::ExecutableRef executable;
  std::vector<lower::Parameter> parameters;
  std::vector<EntryTarget> targets;
  bool counted = false;  // one more output: the true extent of the first result's dim 0
  const exec::PhysicalType* count_type = nullptr;
  // One more output, last: a report for exec::FaultLog. nullptr: the program reports nothing.
  const exec::PhysicalType* report_type = nullptr;
};

// Lowers and compiles a call. Throws PyTorch's own errors for bad arguments, and the compiler's
// with the op and its argument types.
std::unique_ptr<Entry> MakeEntry(Call& call);

}  // namespace tpjrt::aten
