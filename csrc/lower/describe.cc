// Graphs as text for people: errors and debugging.
#include <sstream>

#include "hlo/type.h"
#include "lower/lowering.h"
#include "lower/registry.h"

namespace tpjrt::lower {
namespace {

std::string TypeOf(const ir::Graph& graph, ir::ValueId id) {
  if (id == ir::kNoValue) return "None";
  if (static_cast<size_t>(id) < graph.inputs.size()) {
    const ir::Input& in = graph.inputs[static_cast<size_t>(id)];
    return hlo::ToString(hlo::Type{in.dtype, in.geometry.sizes});
  }
  return "%" + std::to_string(id);
}

struct Printer {
  const ir::Graph& graph;
  std::ostringstream& out;

  void operator()(const ir::None&) { out << "None"; }
  void operator()(const ir::TensorArg& tensor) { out << TypeOf(graph, tensor.value); }
  void operator()(const ir::TensorList& list) {
    out << "[";
    for (size_t i = 0; i < list.values.size(); ++i) {
      out << (i ? ", " : "") << TypeOf(graph, list.values[i]);
    }
    out << "]";
  }
  void operator()(const ir::Scalar& scalar) {
    std::visit([this](const auto& value) { out << value; }, scalar.value);
  }
  void operator()(int64_t value) { out << value; }
  void operator()(bool value) { out << (value ? "True" : "False"); }
  void operator()(DType dtype) { out << Name(dtype); }
  void operator()(const std::string& text) { out << '"' << text << '"'; }
  void operator()(const ir::GeneratorArg&) { out << "generator"; }
  void operator()(const std::vector<ir::Scalar>& list) {
    out << "[";
    for (size_t i = 0; i < list.size(); ++i) {
      out << (i ? ", " : "");
      (*this)(list[i]);
    }
    out << "]";
  }
  template <typename T>
  void operator()(const std::vector<T>& list) {
    out << "[";
    for (size_t i = 0; i < list.size(); ++i) out << (i ? ", " : "") << list[i];
    out << "]";
  }
};

}  // namespace

std::string Describe(const ir::Graph& graph) {
  std::ostringstream out;
  for (const ir::Node& node : graph.nodes) {
    const Schema* schema = node.row < 0 ? nullptr : &Registry::Get().row(node.row).schema;
    if (out.tellp() > 0) out << "\n";
    out << (schema          ? schema->FullName()
            : node.function ? node.function->op
                            : "control flow")
        << "(";
    for (size_t i = 0; i < node.arguments.size(); ++i) {
      if (i) out << ", ";
      if (schema && schema->arguments[i].kind != ArgType::kTensor)
        out << schema->arguments[i].name << "=";
      std::visit(Printer{graph, out}, node.arguments[i]);
    }
    out << ")";
  }
  return out.str();
}

}  // namespace tpjrt::lower
