#include "lower/program_inputs.h"

#include "base/error.h"
#include "hlo/elementwise.h"
#include "lower/view.h"

namespace tpjrt::lower {

using hlo::Value;
using Kind = Parameter::Kind;

ProgramInputs::ProgramInputs(const ir::Graph& graph, hlo::Builder& builder)
    : graph_(graph), builder_(builder) {}

ProgramInputs::ProgramInputs(const ir::Graph& graph, hlo::Builder& builder,
                             std::vector<Value> bound)
    : graph_(graph), builder_(builder), bound_(std::move(bound)), is_region_(true) {
  Check(bound_.size() == graph.inputs.size(), "a region takes ", graph.inputs.size(),
        " values, got ", bound_.size());
}

bool ProgramInputs::IsInput(ir::ValueId id) const {
  return id >= 0 && static_cast<size_t>(id) < graph_.inputs.size();
}

Value ProgramInputs::Add(const Parameter& parameter, const hlo::Dims& dims) {
  Require(!is_region_, "random numbers inside a control flow region are not supported");
  const auto key =
      std::make_tuple(static_cast<int>(parameter.kind), parameter.input, parameter.node,
                      parameter.argument, parameter.entry, static_cast<int>(parameter.dtype));
  if (const auto found = made_.find(key); found != made_.end()) return found->second;
  const Value value = builder_.Parameter(hlo::Type{parameter.dtype, dims});
  parameters_.push_back(parameter);
  made_.emplace(key, value);
  return value;
}

Value ProgramInputs::Buffer(int input) {
  const ir::Input& in = graph_.inputs[static_cast<size_t>(input)];
  Parameter parameter{.kind = Kind::kBuffer, .input = input, .dtype = in.buffer_dtype};
  return Add(parameter, in.buffer_dims);
}

Value ProgramInputs::Offset(int input) {
  const ir::Input& in = graph_.inputs[static_cast<size_t>(input)];
  if (in.geometry.zero_offset) return {};
  return Add(Parameter{.kind = Kind::kOffset, .input = input, .dtype = DType::kI64}, {});
}

Value ProgramInputs::Scalar(int node, int argument, int entry, DType dtype, bool checked) {
  Parameter parameter{.kind = Kind::kScalar, .node = node, .argument = argument, .entry = entry};
  parameter.dtype = dtype;
  parameter.checked = checked;
  return Add(parameter, {});
}

Value ProgramInputs::RandomState(int node, Kind kind) {
  return Add(Parameter{.kind = kind, .node = node, .dtype = DType::kU64}, {});
}

hlo::Type ProgramInputs::TypeOf(ir::ValueId id) const {
  if (!IsInput(id)) return results_.at(static_cast<size_t>(id) - graph_.inputs.size()).type();
  if (is_region_) return bound_[static_cast<size_t>(id)].type();
  const ir::Input& in = graph_.inputs[static_cast<size_t>(id)];
  return hlo::Type{in.dtype, in.geometry.sizes};
}

bool ProgramInputs::IsHostScalar(ir::ValueId id) const {
  return IsInput(id) && graph_.inputs[static_cast<size_t>(id)].kind == ir::Input::Kind::kHostScalar;
}

bool ProgramInputs::IsWrappedNumber(ir::ValueId id) const {
  return IsHostScalar(id) && graph_.inputs[static_cast<size_t>(id)].wrapped_number;
}

Value ProgramInputs::Get(ir::ValueId id) {
  if (!IsInput(id)) return results_.at(static_cast<size_t>(id) - graph_.inputs.size());
  if (is_region_) return bound_[static_cast<size_t>(id)];
  if (const auto found = logical_.find(id); found != logical_.end()) return found->second;
  const ir::Input& in = graph_.inputs[static_cast<size_t>(id)];
  Value value;
  if (in.kind == ir::Input::Kind::kHostScalar) {
    value = Add(Parameter{.kind = Kind::kHostScalar, .input = id, .dtype = in.dtype}, {});
  } else {
    value = ReadView(Reinterpret(Buffer(id), in.dtype), in.geometry, Offset(id));
  }
  logical_.emplace(id, value);
  return value;
}

Value ProgramInputs::GetAs(ir::ValueId id, DType dtype) {
  if (IsHostScalar(id)) {
    return Add(Parameter{.kind = Kind::kHostScalar, .input = id, .dtype = dtype}, {});
  }
  return hlo::Convert(Get(id), dtype);
}

}  // namespace tpjrt::lower
