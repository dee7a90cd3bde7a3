// GraphBuilder: takes the nodes of a captured graph one by one. CapturedGraph: runs it.
#include <pybind11/complex.h>
#include <pybind11/stl.h>
#include <torch/csrc/Device.h>
#include <torch/csrc/Dtype.h>
#include <torch/csrc/Generator.h>
#include <torch/csrc/autograd/python_variable.h>

#include <map>

#include "aten/captured_graph.h"
#include "aten/dtypes.h"
#include "aten/storage.h"
#include "lower/registry.h"
#include "python/bindings.h"

namespace py = pybind11;

namespace tpjrt::python {
namespace {

using lower::ArgType;

// A value of the graph being built, as Python sees it.
struct GraphValue {
  ir::ValueId id;
};

// A torch.dtype, or its number as schema defaults have it.
c10::ScalarType ScalarTypeOf(const py::handle& value) {
  if (py::isinstance<py::int_>(value)) return static_cast<c10::ScalarType>(value.cast<int>());
  if (!THPDtype_Check(value.ptr())) throw py::type_error("expected a torch.dtype");
  return reinterpret_cast<THPDtype*>(value.ptr())->scalar_type;
}

ir::Scalar ScalarOf(const py::handle& value) {
  if (py::isinstance<py::bool_>(value)) return {value.cast<bool>()};
  if (py::isinstance<py::int_>(value)) return {value.cast<int64_t>()};
  if (py::isinstance<py::float_>(value)) return {value.cast<double>()};
  return {value.cast<std::complex<double>>()};
}

std::vector<int64_t> IntsOf(const py::handle& value) {
  if (py::isinstance<py::int_>(value)) return {value.cast<int64_t>()};
  return value.cast<std::vector<int64_t>>();
}

class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name, int device) : name_(std::move(name)), device_(device) {}

  GraphValue Input(const py::object& dtype, std::vector<int64_t> sizes) {
    return AddInput(dtype, std::move(sizes), ir::Input::Kind::kBuffer);
  }
  GraphValue HostScalar(const py::object& dtype) {
    return AddInput(dtype, {}, ir::Input::Kind::kHostScalar);
  }

  // `results`: (dtype, sizes) of each result, None for one that is not a tensor. `line`: of the
  // user's code.
  std::vector<GraphValue> Node(const std::string& op, const py::list& arguments,
                               const py::list& results, int generator, std::string line) {
    ir::Node node;
    node.row = lower::Registry::Get().Find(op);
    if (node.row < 0) throw py::value_error("no row for " + op);
    const auto& schema = lower::Registry::Get().row(node.row).schema;
    if (arguments.size() != schema.arguments.size()) {
      throw py::value_error(
          StrCat(op, " takes ", schema.arguments.size(), " arguments, got ", arguments.size()));
    }
    for (size_t i = 0; i < arguments.size(); ++i) {
      node.arguments.push_back(CheckedArgument(op, schema.arguments[i], arguments[i]));
    }
    if (generator >= 0) generators_[static_cast<int>(graph_.nodes.size())] = generator;
    return Append(std::move(node), results, std::move(line));
  }

  // A control flow node over regions built with builders of their own: "if", "while" or "scan".
  std::vector<GraphValue> Control(const std::string& kind, const std::vector<GraphValue>& operands,
                                  const std::vector<GraphBuilder*>& regions, int carried,
                                  int sequences, const py::list& results, std::string line) {
    ir::Node node;
    node.control = kind == "if"      ? ir::Control::kIf
                   : kind == "while" ? ir::Control::kWhile
                                     : ir::Control::kScan;
    node.carried = carried;
    node.sequences = sequences;
    for (GraphBuilder* region : regions) {
      region->graph_.captured = true;
      node.regions.push_back(std::make_shared<const ir::Graph>(region->graph_));
    }
    ir::TensorList list;
    for (const GraphValue& operand : operands) list.values.push_back(operand.id);
    node.arguments.emplace_back(std::move(list));
    return Append(std::move(node), results, std::move(line));
  }

  // A function given as StableHLO text; `results`: (dtype, sizes) of each.
  std::vector<GraphValue> Call(const std::string& op, const std::string& symbol,
                               const std::string& text, const std::string& aliases,
                               const std::vector<GraphValue>& operands, const py::list& results,
                               std::string line) {
    ir::Node node;
    node.function = std::make_shared<const ir::Function>(ir::Function{op, symbol, text, aliases});
    for (const GraphValue& operand : operands) {
      node.arguments.emplace_back(ir::TensorArg{operand.id});
    }
    return Append(std::move(node), results, std::move(line));
  }

  void Output(GraphValue value, const py::object& dtype, std::vector<int64_t> sizes,
              std::vector<int64_t> strides) {
    aten::CapturedResult result{ScalarTypeOf(dtype), std::move(sizes), std::move(strides)};
    std::vector<int64_t> order;
    if (!aten::DenseOrder(result.sizes, result.strides, &order)) {
      result.strides = aten::RowMajorStrides(result.sizes);
    }
    ir::Output output;
    output.value = value.id;
    output.layout = aten::LayoutOf(result.sizes, result.strides);
    graph_.outputs.push_back(std::move(output));
    results_.push_back(std::move(result));
  }

  // The value becomes the content of an input. After all outputs.
  void Write(GraphValue value, GraphValue input) {
    ir::Output output;
    output.value = value.id;
    output.written_input = input.id;
    graph_.outputs.push_back(std::move(output));
  }

  std::shared_ptr<aten::CapturedGraph> Finish() {
    return std::make_shared<aten::CapturedGraph>(name_, std::move(graph_), std::move(results_),
                                                 device_, std::move(generators_),
                                                 std::move(lines_));
  }

 private:
  std::vector<GraphValue> Append(ir::Node node, const py::list& results, std::string line) {
    std::vector<GraphValue> values;
    for (const py::handle& result : results) {
      values.push_back({next_++});
      ir::TensorType& type = node.results.emplace_back();
      if (result.is_none()) continue;
      const auto pair = result.cast<py::tuple>();
      type = {aten::ToDType(ScalarTypeOf(pair[0])), pair[1].cast<std::vector<int64_t>>()};
    }
    graph_.nodes.push_back(std::move(node));
    lines_.push_back(std::move(line));
    return values;
  }

  GraphValue AddInput(const py::object& dtype, std::vector<int64_t> sizes, ir::Input::Kind kind) {
    if (!graph_.nodes.empty()) throw py::value_error("an input after the first node");
    ir::Input& input = graph_.inputs.emplace_back();
    input.kind = kind;
    input.dtype = aten::ToDType(ScalarTypeOf(dtype));
    input.geometry.sizes = std::move(sizes);
    return {next_++};
  }

  static ir::ValueId IdOf(const py::handle& value) {
    return value.is_none() ? ir::kNoValue : value.cast<GraphValue>().id;
  }

  static ir::Argument CheckedArgument(const std::string& op, const lower::SchemaArg& argument,
                                      const py::handle& value) {
    try {
      return Argument(argument, value);
    } catch (const py::cast_error&) {
      throw py::value_error(StrCat(op, ": argument '", argument.name, "' of type ", argument.type,
                                   " cannot be ", py::repr(value).cast<std::string>()));
    }
  }

  static ir::Argument Argument(const lower::SchemaArg& argument, const py::handle& value) {
    if (value.is_none()) return ir::None();
    switch (argument.kind) {
      case ArgType::kTensor:
        if (!py::isinstance<GraphValue>(value)) return ScalarOf(value);
        return ir::TensorArg{IdOf(value)};
      case ArgType::kTensorList: {
        ir::TensorList list;
        for (const py::handle& entry : value.cast<py::list>()) list.values.push_back(IdOf(entry));
        return list;
      }
      case ArgType::kScalar:
      case ArgType::kFloat:
        return ScalarOf(value);
      case ArgType::kInt:
        return value.cast<int64_t>();
      case ArgType::kIntList:
        return IntsOf(value);
      case ArgType::kBool:
        return value.cast<bool>();
      case ArgType::kDType:
        return aten::ToDType(ScalarTypeOf(value));
      case ArgType::kString:
        return value.cast<std::string>();
      case ArgType::kBoolList:
        return value.cast<std::vector<bool>>();
      case ArgType::kScalarList: {
        std::vector<ir::Scalar> numbers;
        for (const py::handle& entry : value) numbers.push_back(ScalarOf(entry));
        return numbers;
      }
      case ArgType::kFloatList:
        return value.cast<std::vector<double>>();
      case ArgType::kGenerator:
      case ArgType::kOther:
        return ir::None();
    }
    return ir::None();
  }

  std::string name_;
  int device_;
  ir::Graph graph_;
  std::vector<aten::CapturedResult> results_;
  std::map<int, int> generators_;
  std::vector<std::string> lines_;
  ir::ValueId next_ = 0;
};

// Whether a captured graph can hold the op: it has a row that writes nothing and whose results have
// sizes known beforehand.
bool CanCapture(const std::string& op) {
  const auto& registry = lower::Registry::Get();
  const int index = registry.Find(op);
  if (index < 0) return false;
  const lower::RegisteredRow& row = registry.row(index);
  const auto& arguments = row.schema.arguments;
  return !row.row->traits.counted && !row.row->traits.own_result_sizes && row.also_writes.empty() &&
         std::none_of(arguments.begin(), arguments.end(),
                      [](const lower::SchemaArg& argument) { return argument.written; });
}

// PyTorch's name and StableHLO's of every element type.
std::map<std::string, std::string> ElementTypes() {
  std::map<std::string, std::string> names;
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    names.emplace(Name(dtype), HloName(dtype));
  }
  return names;
}

py::object Prepare(aten::CapturedGraph& graph, const std::vector<std::vector<int64_t>>& strides) {
  std::optional<aten::UnsupportedNode> unsupported;
  {
    const py::gil_scoped_release no_gil;
    unsupported = graph.Prepare(strides);
  }
  if (!unsupported) return py::none();
  return py::make_tuple(unsupported->node, unsupported->reason);
}

c10::SmallVector<at::Tensor, 16> TensorsIn(const aten::CapturedGraph& graph,
                                           const py::list& inputs) {
  c10::SmallVector<at::Tensor, 16> tensors;
  tensors.reserve(inputs.size());
  for (const py::handle& input : inputs) {
    if (!THPVariable_Check(input.ptr())) {
      throw py::type_error(graph.name() + " was given an input that is no tensor");
    }
    tensors.push_back(THPVariable_Unpack(input.ptr()));
  }
  return tensors;
}

std::vector<double> TimeRaw(aten::CapturedGraph& graph, const py::list& inputs, int rounds) {
  const auto tensors = TensorsIn(graph, inputs);
  const py::gil_scoped_release no_gil;
  return graph.TimeRaw(tensors, rounds);
}

py::list Run(aten::CapturedGraph& graph, const py::list& inputs, const py::list& generators) {
  const auto tensors = TensorsIn(graph, inputs);
  c10::SmallVector<at::Generator, 2> own;
  for (const py::handle& generator : generators) {
    own.push_back(reinterpret_cast<THPGenerator*>(generator.ptr())->cdata);
  }
  std::vector<at::Tensor> results;
  {
    const py::gil_scoped_release no_gil;
    results = graph.Run(tensors, own);
  }
  py::list list(results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    list[i] = py::reinterpret_steal<py::object>(THPVariable_Wrap(std::move(results[i])));
  }
  return list;
}

}  // namespace

void BindCapturedGraphs(py::module_& m) {
  py::class_<GraphValue>(m, "GraphValue");
  py::class_<aten::CapturedGraph, std::shared_ptr<aten::CapturedGraph>>(m, "CapturedGraph")
      .def("prepare", &Prepare)
      .def("run", &Run)
      .def("time_raw", &TimeRaw)
      .def_property_readonly("name", &aten::CapturedGraph::name)
      .def_property_readonly("text", &aten::CapturedGraph::text)
      .def_property_readonly("lowering_seconds", &aten::CapturedGraph::lowering_seconds)
      .def_property_readonly("compiling_seconds", &aten::CapturedGraph::compiling_seconds)
      .def_property_readonly("num_programs", &aten::CapturedGraph::num_programs);
  py::class_<GraphBuilder>(m, "GraphBuilder")
      .def(py::init<std::string, int>())
      .def("input", &GraphBuilder::Input)
      .def("host_scalar", &GraphBuilder::HostScalar)
      .def("node", &GraphBuilder::Node)
      .def("control", &GraphBuilder::Control)
      .def("call", &GraphBuilder::Call)
      .def("output", &GraphBuilder::Output)
      .def("write", &GraphBuilder::Write)
      .def("finish", &GraphBuilder::Finish);
  m.def("can_capture", &CanCapture);
  m.def("element_types", &ElementTypes);
}

}  // namespace tpjrt::python
