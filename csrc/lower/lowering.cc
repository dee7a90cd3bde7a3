#include "lower/lowering.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "hlo/elementwise.h"
#include "hlo/shape.h"
#include "lower/control_flow.h"
#include "lower/node_context.h"
#include "lower/node_error.h"
#include "lower/program_inputs.h"
#include "lower/registry.h"
#include "lower/view.h"

namespace tpjrt::lower {
namespace {

using hlo::Type;
using hlo::Value;

// The logical value in the order of its memory format.
Value InLayout(Value value, const std::vector<int64_t>& layout) {
  const bool fits = static_cast<int64_t>(layout.size()) == value.rank();
  return layout.empty() || !fits ? value : hlo::Transpose(value, layout);
}

Value WrittenStorage(const ir::Graph& graph, int input, Value update, ProgramInputs& inputs) {
  const ir::Input& in = graph.inputs[static_cast<size_t>(input)];
  const hlo::Dims dims = ReinterpretedDims(in.buffer_dims, in.buffer_dtype, in.dtype);
  const bool whole = in.geometry.form == ir::Form::kWhole && hlo::NumElements(dims) > 0 &&
                     hlo::NumElements(in.geometry.sizes) > 0;
  const Value base = whole ? Value() : Reinterpret(inputs.Buffer(input), in.dtype);
  update = hlo::Convert(update, in.dtype);
  const Value written =
      WriteView(base, Type{in.dtype, dims}, in.geometry, inputs.Offset(input), update);
  const Value back = Reinterpret(written, in.buffer_dtype);
  const auto bytes = [](int64_t n, DType t) { return n * static_cast<int64_t>(ItemSize(t)); };
  Check(bytes(back.num_elements(), back.dtype()) ==
            bytes(hlo::NumElements(in.buffer_dims), in.buffer_dtype),
        "a write through a dtype view lost the storage's tail");
  return hlo::Reshape(back, in.buffer_dims);
}

void CheckResults(const RegisteredRow& row, const ir::Node& node, const Outcome& outcome,
                  bool exact) {
  const size_t extra = row.row->traits.counted ? 1 : 0;
  Check(outcome.values().size() >= node.results.size() + extra, row.schema.FullName(), " returned ",
        outcome.values().size(), " values, ", node.results.size(), " are expected");
  for (size_t i = 0; i < node.results.size(); ++i) {
    const Value& value = outcome.values()[i];
    if (!value.valid() || row.row->traits.own_result_sizes) continue;
    const bool same_dtype = !exact || value.dtype() == node.results[i].dtype;
    Check(same_dtype && value.dims() == node.results[i].sizes, row.schema.FullName(), " result ", i,
          " was lowered to ", hlo::ToString(value.type()), ", PyTorch says ",
          hlo::ToString(Type{node.results[i].dtype, node.results[i].sizes}));
  }
}

void RequireOneDtype(const ir::Node& node, const RegisteredRow& row, const ProgramInputs& inputs) {
  std::optional<DType> first;
  for (int index : row.same_dtype) {
    const auto* tensor = std::get_if<ir::TensorArg>(&node.arguments[static_cast<size_t>(index)]);
    if (tensor == nullptr) continue;
    const DType dtype = inputs.TypeOf(tensor->value).dtype;
    if (!first) first = dtype;
    Require(*first == dtype, row.schema.FullName(), ": expected ", row.row->traits.same_dtype,
            " to have the same dtype, but got ", Name(*first), " and ", Name(dtype));
  }
}

// What the row's function makes of the node; its errors name the op.
Outcome Lowered(const RegisteredRow& row, Context& context) {
  try {
    return row.row->lower(context);
  } catch (const Error& error) {
    throw Error(error.code(), StrCat(row.schema.FullName(), ": ", error.what()));
  }
}

// A function that came as text: whoever made it has checked its types against the node's.
void CallFunction(const ir::Node& node, ProgramInputs& inputs) {
  std::vector<Value> operands;
  for (const ir::Argument& argument : node.arguments) {
    operands.push_back(inputs.Get(std::get<ir::TensorArg>(argument).value));
  }
  std::vector<Type> results;
  for (const ir::TensorType& type : node.results) results.push_back({type.dtype, type.sizes});
  const ir::Function& function = *node.function;
  for (const Value& value : inputs.builder().Call(function.symbol, function.text, function.aliases,
                                                  operands, std::move(results))) {
    inputs.SetResult(value);
  }
}

// The arguments and the result of entry `i` of a row that is applied to lists.
ir::Node EntryOf(const ir::Node& node, const RegisteredRow& row, size_t i) {
  ir::Node entry;
  entry.row = row.each;
  for (const ir::Argument& argument : node.arguments) {
    if (const auto* list = std::get_if<ir::TensorList>(&argument)) {
      entry.arguments.emplace_back(ir::TensorArg{list->values.at(i)});
    } else if (const auto* numbers = std::get_if<std::vector<ir::Scalar>>(&argument)) {
      entry.arguments.emplace_back(numbers->at(i));
    } else {
      entry.arguments.push_back(argument);
    }
  }
  const size_t count = Registry::Get().row(row.each).schema.arguments.size();
  entry.arguments.resize(count, ir::None());
  entry.results.push_back(node.results.at(i));
  return entry;
}

// Lowers one node by its row's function; false and the reason when its case is not supported.
bool LowerOne(const RegisteredRow& row, const ir::Node& node, bool exact, NodeContext& context,
              ProgramInputs& inputs, std::string* reason) {
  RequireOneDtype(node, row, inputs);
  const Outcome outcome = Lowered(row, context);
  if (!outcome.ok()) {
    *reason = outcome.reason();
    return false;
  }
  CheckResults(row, node, outcome, exact);
  for (const Value& value : outcome.values()) inputs.SetResult(value);
  return true;
}

// The node's results become values; false and the reason when its case is not supported.
bool AddNode(const ir::Graph& graph, int index, ProgramInputs& inputs, std::string* reason) {
  const ir::Node& node = graph.nodes[static_cast<size_t>(index)];
  if (node.control != ir::Control::kNone) return LowerControl(node, inputs, reason);
  if (node.function) {
    CallFunction(node, inputs);
    return true;
  }
  const RegisteredRow& row = Registry::Get().row(node.row);
  if (row.each < 0) {
    NodeContext context(graph, index, inputs);
    return LowerOne(row, node, graph.captured, context, inputs, reason);
  }
  const RegisteredRow& each = Registry::Get().row(row.each);
  for (size_t i = 0; i < node.results.size(); ++i) {
    const ir::Node entry = EntryOf(node, row, i);
    NodeContext context(graph, index, entry, static_cast<int>(i), inputs);
    if (!LowerOne(each, entry, graph.captured, context, inputs, reason)) return false;
  }
  return true;
}

// The same; errors say which node they are about.
bool LowerNode(const ir::Graph& graph, int index, ProgramInputs& inputs, std::string* reason) {
  try {
    return AddNode(graph, index, inputs, reason);
  } catch (const Error& error) {
    throw NodeError(error, index);
  }
}

// The first fault that was found, or none, with the node that found it.
Value FaultReport(std::span<const Value> faults, const std::vector<int>& nodes) {
  std::vector<Value> reports;
  for (size_t i = 0; i < faults.size(); ++i) {
    const Value node = hlo::ConstantInt(faults[i].builder(), DType::kI64, nodes[i], {1});
    reports.push_back(hlo::Concatenate(std::array{faults[i], node}, 0));
  }
  return FirstFault(reports);
}

// A written buffer that is also an input of the program may be reused for its new content.
void MarkDonations(const ir::Graph& graph, const std::vector<int>& result_of_output,
                   ProgramInputs& inputs, const std::vector<Type>& outputs) {
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const int written = graph.outputs[i].written_input;
    if (written < 0 || result_of_output[i] < 0) continue;
    auto& parameters = inputs.parameters();
    for (size_t p = 0; p < parameters.size(); ++p) {
      const bool same =
          parameters[p].kind == Parameter::Kind::kBuffer && parameters[p].input == written;
      const ir::Input& in = graph.inputs[static_cast<size_t>(written)];
      if (!same || outputs[i] != Type{in.buffer_dtype, in.buffer_dims}) continue;
      parameters[p].donated_to = result_of_output[i];
      inputs.builder().AliasParameter(static_cast<int>(p), result_of_output[i]);
    }
  }
}

}  // namespace

int LowerNodes(const ir::Graph& graph, ProgramInputs& inputs, std::string* reason,
               std::vector<int>* fault_nodes) {
  for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i) {
    if (!LowerNode(graph, i, inputs, reason)) return i;
    if (fault_nodes != nullptr) fault_nodes->resize(inputs.builder().faults().size(), i);
  }
  return -1;
}

Program LowerGraph(const ir::Graph& graph) {
  hlo::Builder builder;
  ProgramInputs inputs(graph, builder);
  Program program;
  std::vector<int> fault_nodes;
  program.unsupported_node = LowerNodes(graph, inputs, &program.unsupported, &fault_nodes);
  if (program.unsupported_node >= 0) return program;
  std::vector<Value> results;
  std::vector<int> result_of_output;
  for (const ir::Output& output : graph.outputs) {
    const Value value = inputs.Get(output.value);
    program.output_defined.push_back(value.valid());
    result_of_output.push_back(value.valid() ? static_cast<int>(results.size()) : -1);
    if (!value.valid()) {
      program.outputs.emplace_back();
      continue;
    }
    const Value physical = output.written_input >= 0
                               ? WrittenStorage(graph, output.written_input, value, inputs)
                               : InLayout(value, output.layout);
    program.outputs.push_back(physical.type());
    results.push_back(physical);
  }
  MarkDonations(graph, result_of_output, inputs, program.outputs);
  program.reports_faults = !builder.faults().empty();
  if (program.reports_faults) results.push_back(FaultReport(builder.faults(), fault_nodes));
  program.text = builder.Finish(results);
  program.parameters = inputs.parameters();
  return program;
}

}  // namespace tpjrt::lower
