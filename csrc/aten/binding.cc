#include "aten/binding.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "aten/prepare.h"
#include "base/error.h"

namespace tpjrt::aten {
namespace {

using lower::ArgType;
using lower::Schema;
using lower::SchemaArg;

// PyTorch's own kernels for these choose between devices, then call ours.
bool StaysWithPyTorch(const std::string& name) {
  static const char* kNames[] = {"copy_", "copy.out", "_to_copy", "_to_copy.out"};
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](const char* n) { return name == n; });
}

std::string Print(const c10::FunctionSchema& schema) {
  std::ostringstream out;
  out << schema;
  return out.str();
}

bool SameArgument(const SchemaArg& a, const SchemaArg& b) {
  return a.type == b.type && a.kind == b.kind && a.optional == b.optional;
}

// The candidate's arguments are the row's, then one out argument per result.
bool IsOutOf(const Schema& row, const Schema& candidate) {
  const size_t n = row.arguments.size();
  const auto results = static_cast<size_t>(row.num_results);
  if (results == 0 || row.returns_list || candidate.arguments.size() != n + results) return false;
  for (size_t i = 0; i < n; ++i) {
    if (!SameArgument(row.arguments[i], candidate.arguments[i]) || candidate.arguments[i].written) {
      return false;
    }
  }
  return std::all_of(candidate.arguments.begin() + static_cast<long>(n), candidate.arguments.end(),
                     [](const SchemaArg& a) { return a.is_out && a.kind == ArgType::kTensor; });
}

bool IsInplaceOf(const Schema& row, const Schema& candidate) {
  if (row.num_results != 1 || candidate.arguments.size() != row.arguments.size()) return false;
  for (size_t i = 0; i < row.arguments.size(); ++i) {
    if (!SameArgument(row.arguments[i], candidate.arguments[i])) return false;
    if (candidate.arguments[i].written != (i == 0)) return false;
  }
  // In-place ops on lists return nothing.
  return candidate.num_results == (row.returns_list ? 0 : 1) && !row.arguments.empty();
}

std::vector<Target> TargetsOf(const Binding& binding, const Schema& schema) {
  const auto& row = *binding.registered;
  std::vector<Target> targets;
  const auto n = static_cast<int>(row.schema.arguments.size());
  switch (binding.variant) {
    case Variant::kInplace:
      targets.push_back({0, schema.num_results == 1});
      break;
    case Variant::kOut:
      for (int i = 0; i < row.schema.num_results; ++i) targets.push_back({n + i, true});
      break;
    case Variant::kFunctional: {
      std::vector<int> written;
      for (int i = 0; i < n; ++i) {
        if (schema.arguments[static_cast<size_t>(i)].written) written.push_back(i);
      }
      size_t next = 0;
      for (int i = 0; i < schema.num_results; ++i) {
        const bool is_written = schema.result_written[static_cast<size_t>(i)];
        targets.push_back({is_written ? written.at(next++) : -1, true});
      }
      if (schema.num_results == 0) {
        for (int argument : written) targets.push_back({argument, false, false});
      }
    }
  }
  for (int argument : row.also_writes) targets.push_back({argument, false, false});
  return targets;
}

Binding MakeBinding(const c10::OperatorHandle& op, const Schema& schema, Variant variant, int row,
                    std::optional<c10::OperatorHandle> functional) {
  Binding binding(op);
  binding.variant = variant;
  binding.row = row;
  binding.registered = &lower::Registry::Get().row(row);
  binding.functional = std::move(functional);
  binding.arguments = schema.arguments;
  binding.targets = TargetsOf(binding, schema);
  binding.returns_list = schema.returns_list;
  binding.own_use = StaysWithPyTorch(schema.FullName());
  binding.draws_per_element = binding.registered->row->traits.draws_per_element;
  const int indices = schema.IndexOf("indices");
  if (indices >= 0 && schema.arguments[static_cast<size_t>(indices)].type == "Tensor?[]") {
    binding.index_argument = indices;
  }
  binding.prepare = PrepareOf(binding);
  binding.written.assign(schema.arguments.size(), false);
  for (const Target& target : binding.targets) {
    if (target.argument >= 0) binding.written[static_cast<size_t>(target.argument)] = true;
  }
  return binding;
}

struct Overload {
  c10::OperatorHandle op;
  Schema schema;
};

// Only the base names that rows have, and their in-place twins, are parsed: import time.
std::multimap<std::string, c10::OperatorName> OverloadsByBase(
    const std::map<std::string, bool>& wanted) {
  std::multimap<std::string, c10::OperatorName> by_base;
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    if (name.name.rfind("aten::", 0) != 0) continue;
    std::string base = name.name.substr(6);
    if (wanted.count(base)) by_base.emplace(std::move(base), name);
  }
  return by_base;
}

std::vector<Overload> Load(const std::multimap<std::string, c10::OperatorName>& names,
                           const std::string& base) {
  std::vector<Overload> overloads;
  for (auto [at, end] = names.equal_range(base); at != end; ++at) {
    const auto op = c10::Dispatcher::singleton().findSchema(at->second);
    if (op) overloads.push_back({*op, lower::ParseSchema(Print(op->schema()))});
  }
  return overloads;
}

}  // namespace

Binding::Binding(c10::OperatorHandle handle) : op(handle), meta(handle) {
  convolves = op.operator_name().name.find("convolution") != std::string::npos;
  if (op.operator_name().name == "aten::convolution_overrideable") {
    meta = c10::Dispatcher::singleton().findSchemaOrThrow("aten::convolution", "");
  }
  name_ = op.operator_name().name +
          (op.operator_name().overload_name.empty() ? "" : "." + op.operator_name().overload_name);
}

std::vector<Binding> MakeBindings() {
  const auto& rows = lower::Registry::Get().rows();
  std::map<std::string, bool> wanted;
  for (const auto& row : rows) {
    wanted[row.schema.name] = true;
    wanted[row.schema.name + "_"] = true;
  }
  const auto names = OverloadsByBase(wanted);
  std::map<std::string, bool> has_row;
  for (const auto& row : rows) has_row[row.schema.FullName()] = true;

  std::vector<Binding> bindings;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Schema& schema = rows[i].schema;
    const auto row = static_cast<int>(i);
    const auto op =
        c10::Dispatcher::singleton().findSchema({"aten::" + schema.name, schema.overload});
    Check(op.has_value(), "row ", schema.FullName(), ": PyTorch has no such operator");
    const std::string printed = Print(op->schema());
    Check(printed == "aten::" + std::string(rows[i].row->schema), "row ", schema.FullName(),
          ": PyTorch's schema is ", printed);
    if (rows[i].row->traits.captured_only) continue;
    bindings.push_back(MakeBinding(*op, schema, Variant::kFunctional, row, std::nullopt));
    const bool functional = std::none_of(schema.arguments.begin(), schema.arguments.end(),
                                         [](const SchemaArg& a) { return a.written; });
    // Their results' sizes are known only afterwards: out= goes another way (copy.cc, or the CPU).
    const lower::Traits& traits = rows[i].row->traits;
    if (!functional || traits.counted || traits.own_result_sizes) continue;
    for (const auto& [base, variant] :
         {std::pair{schema.name, Variant::kOut}, std::pair{schema.name + "_", Variant::kInplace}}) {
      for (const Overload& overload : Load(names, base)) {
        const bool fits = variant == Variant::kOut ? IsOutOf(schema, overload.schema)
                                                   : IsInplaceOf(schema, overload.schema);
        const std::string name = overload.schema.FullName();
        if (!fits || has_row.count(name)) continue;
        bindings.push_back(MakeBinding(overload.op, overload.schema, variant, row, op));
      }
    }
  }
  return bindings;
}

}  // namespace tpjrt::aten
