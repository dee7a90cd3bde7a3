#include "lower/node_context.h"

#include <optional>

#include "base/error.h"
#include "hlo/elementwise.h"
#include "lower/promote.h"

namespace tpjrt::lower {
namespace {

const char* kInts = "int[]";

// As a C cast does.
int64_t WrappedTo(DType dtype, int64_t value) {
  const int shift = 64 - static_cast<int>(8 * ItemSize(dtype));
  if (dtype == DType::kBool) return value != 0 ? 1 : 0;
  const uint64_t high = static_cast<uint64_t>(value) << shift;
  if (IsUnsigned(dtype)) return static_cast<int64_t>(high >> shift);
  return static_cast<int64_t>(high) >> shift;
}

Value ConstantOf(hlo::Builder& b, const ir::Scalar& scalar, DType dtype) {
  return std::visit(
      [&](auto number) -> Value {
        using Number = decltype(number);
        if constexpr (std::is_same_v<Number, std::complex<double>>) {
          return hlo::ConstantComplex(b, dtype, number);
        } else if constexpr (std::is_same_v<Number, double>) {
          return hlo::Constant(b, dtype, number);
        } else {
          const auto whole = static_cast<int64_t>(number);
          if (!IsInteger(dtype)) return hlo::ConstantInt(b, dtype, whole);
          return hlo::ConstantInt(b, dtype, WrappedTo(dtype, whole));
        }
      },
      scalar.value);
}

// The number, without an imaginary part.
double ToDouble(const ir::Scalar& scalar) {
  return std::visit(
      [](auto value) -> double {
        if constexpr (std::is_same_v<decltype(value), std::complex<double>>) {
          return value.real();
        } else {
          return static_cast<double>(value);
        }
      },
      scalar.value);
}

// Which entry of the node's own argument the number of entry `entry` is: one number serves all.
int EntryOfNode(const ir::Graph& graph, int node, int argument, int entry) {
  const ir::Node& own = graph.nodes[static_cast<size_t>(node)];
  const ir::Argument& number = own.arguments[static_cast<size_t>(argument)];
  return std::holds_alternative<std::vector<ir::Scalar>>(number) ? entry : 0;
}

// The type of a Python number as a tensor.
DType TypeOfNumber(const ir::Scalar& scalar) {
  constexpr DType kTypes[] = {DType::kBool, DType::kI64, DType::kF64, DType::kC128};
  return kTypes[scalar.value.index()];
}

}  // namespace

NodeContext::NodeContext(const ir::Graph& graph, int node, ProgramInputs& inputs)
    : NodeContext(graph, node, graph.nodes[static_cast<size_t>(node)], 0, inputs) {}

NodeContext::NodeContext(const ir::Graph& graph, int node, const ir::Node& entry_node, int entry,
                         ProgramInputs& inputs)
    : graph_(graph),
      node_(entry_node),
      node_index_(node),
      entry_(entry),
      row_(Registry::Get().row(entry_node.row)),
      inputs_(inputs) {
  Check(node_.arguments.size() == row_.schema.arguments.size(), row_.schema.FullName(), " got ",
        node_.arguments.size(), " arguments, its schema has ", row_.schema.arguments.size());
  for (const ir::TensorType& type : node_.results) results_.push_back({type.dtype, type.sizes});
}

int NodeContext::IndexOf(std::string_view name) const {
  const int index = row_.schema.IndexOf(name);
  Check(index >= 0, "lowering of ", row_.schema.FullName(), " asks for an argument '", name,
        "' that its schema does not have");
  return index;
}

const ir::Argument& NodeContext::ArgumentNamed(std::string_view name) const {
  return node_.arguments[static_cast<size_t>(IndexOf(name))];
}

template <typename T>
const T& NodeContext::Get(std::string_view name, const char* what) const {
  const T* value = std::get_if<T>(&ArgumentNamed(name));
  Check(value != nullptr, "argument '", name, "' of ", row_.schema.FullName(), " is not ", what);
  return *value;
}

const ir::Scalar* NodeContext::NumberNamed(std::string_view name) const {
  return std::get_if<ir::Scalar>(&ArgumentNamed(name));
}

bool NodeContext::Has(std::string_view name) {
  return !std::holds_alternative<ir::None>(ArgumentNamed(name));
}

// A number in the place of a tensor.
Value NodeContext::Number(std::string_view name, const ir::Scalar& number, DType dtype) {
  if (graph_.captured) return ConstantOf(builder(), number, dtype);
  const int index = IndexOf(name);
  return inputs_.Scalar(node_index_, index, EntryOfNode(graph_, node_index_, index, entry_), dtype,
                        false);
}

Value NodeContext::Tensor(std::string_view name) {
  if (const ir::Scalar* number = NumberNamed(name)) {
    return Number(name, *number, TypeOfNumber(*number));
  }
  return inputs_.Get(Get<ir::TensorArg>(name, "a tensor").value);
}

Value NodeContext::TensorAs(std::string_view name, DType dtype) {
  if (const ir::Scalar* number = NumberNamed(name)) return Number(name, *number, dtype);
  return inputs_.GetAs(Get<ir::TensorArg>(name, "a tensor").value, dtype);
}

Type NodeContext::TensorType(std::string_view name) {
  if (const ir::Scalar* number = NumberNamed(name)) return {TypeOfNumber(*number), {}};
  return inputs_.TypeOf(Get<ir::TensorArg>(name, "a tensor").value);
}

std::vector<Value> NodeContext::TensorList(std::string_view name) {
  std::vector<Value> values;
  for (ir::ValueId id : Get<ir::TensorList>(name, "a tensor list").values) {
    values.push_back(id == ir::kNoValue ? Value() : inputs_.Get(id));
  }
  return values;
}

std::vector<Value> NodeContext::TensorListAs(std::string_view name, DType dtype) {
  std::vector<Value> values;
  for (ir::ValueId id : Get<ir::TensorList>(name, "a tensor list").values) {
    values.push_back(id == ir::kNoValue ? Value() : inputs_.GetAs(id, dtype));
  }
  return values;
}

ir::Scalar NodeContext::ScalarNamed(std::string_view name) const {
  if (const auto* whole = std::get_if<int64_t>(&ArgumentNamed(name))) return {*whole};
  return Get<ir::Scalar>(name, "a scalar");
}

ir::Scalar NodeContext::EntryOf(std::string_view name, size_t entry) const {
  if (const auto* ints = std::get_if<std::vector<int64_t>>(&ArgumentNamed(name))) {
    return {ints->at(entry)};
  }
  return Get<std::vector<ir::Scalar>>(name, "Scalar[]").at(entry);
}

Value NodeContext::RuntimeScalar(std::string_view name, int entry, const ir::Scalar& scalar,
                                 DType dtype) {
  if (graph_.captured) return ConstantOf(builder(), scalar, dtype);
  const auto index = static_cast<size_t>(IndexOf(name));
  const ArgType kind = row_.schema.arguments[index].kind;
  const bool number = kind == ArgType::kScalar || kind == ArgType::kFloat;
  Check(number ? !row_.static_scalar[index] : row_.runtime_number[index], "lowering of ",
        row_.schema.FullName(), " reads '", name, "' at run time although its row makes it static");
  return inputs_.Scalar(node_index_, static_cast<int>(index), entry, dtype,
                        row_.checked_scalar[index]);
}

Value NodeContext::Scalar(std::string_view name, DType dtype) {
  const int entry = EntryOfNode(graph_, node_index_, IndexOf(name), entry_);
  return RuntimeScalar(name, entry, ScalarNamed(name), dtype);
}

Value NodeContext::ScalarAt(std::string_view name, size_t entry, DType dtype) {
  return RuntimeScalar(name, static_cast<int>(entry), EntryOf(name, entry), dtype);
}

ScalarKind NodeContext::KindOf(std::string_view name) {
  return static_cast<ScalarKind>(ScalarNamed(name).value.index());
}

bool NodeContext::IsStatic(std::string_view name) {
  const auto index = static_cast<size_t>(IndexOf(name));
  return graph_.captured || row_.IsStatic(index, ToDouble(ScalarNamed(name)));
}

double NodeContext::StaticDouble(std::string_view name) {
  Check(IsStatic(name), "lowering of ", row_.schema.FullName(), " reads the number '", name,
        "' that is not static");
  return ToDouble(ScalarNamed(name));
}

int64_t NodeContext::StaticInt(std::string_view name) {
  const ir::Scalar scalar = ScalarNamed(name);
  if (const auto* value = std::get_if<int64_t>(&scalar.value)) return *value;
  return static_cast<int64_t>(StaticDouble(name));
}

int64_t NodeContext::Int(std::string_view name) { return Get<int64_t>(name, "an int"); }
bool NodeContext::Bool(std::string_view name) { return Get<bool>(name, "a bool"); }
Dims NodeContext::Ints(std::string_view name) { return Get<std::vector<int64_t>>(name, kInts); }
std::vector<bool> NodeContext::Bools(std::string_view name) {
  return Get<std::vector<bool>>(name, "bool[]");
}
std::string NodeContext::String(std::string_view name) { return Get<std::string>(name, "a str"); }
DType NodeContext::Dtype(std::string_view name) { return Get<DType>(name, "a dtype"); }

Value NodeContext::Seed() { return inputs_.RandomState(node_index_, Parameter::Kind::kSeed); }
Value NodeContext::Offset() {
  return inputs_.RandomState(node_index_, Parameter::Kind::kDrawOffset);
}

const Type& NodeContext::Result(int i) {
  Check(static_cast<size_t>(i) < results_.size(), "lowering of ", row_.schema.FullName(),
        " asks for the type of result ", i, " of ", results_.size());
  return results_[static_cast<size_t>(i)];
}

DType NodeContext::Promoted(std::span<const std::string_view> names) {
  Promotion promotion;
  const auto add = [&](ir::ValueId id) {
    if (id == ir::kNoValue) return;
    const Type type = inputs_.TypeOf(id);
    if (inputs_.IsWrappedNumber(id)) {
      promotion.AddNumber(type.dtype);
    } else {
      promotion.AddTensor(type.dtype, type.rank());
    }
  };
  for (std::string_view name : names) {
    const ir::Argument& argument = ArgumentNamed(name);
    if (const auto* tensor = std::get_if<ir::TensorArg>(&argument)) add(tensor->value);
    if (const auto* list = std::get_if<ir::TensorList>(&argument)) {
      for (ir::ValueId id : list->values) add(id);
    }
    if (const auto* scalar = std::get_if<ir::Scalar>(&argument)) promotion.AddScalar(*scalar);
  }
  return promotion.Result();
}

}  // namespace tpjrt::lower
