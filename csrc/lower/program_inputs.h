// The values of a graph while it is lowered: inputs become parameters when a lowering first asks
// for them (an input nobody reads costs nothing), results are set as nodes are lowered.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "hlo/builder.h"
#include "lower/lowering.h"

namespace tpjrt::lower {

class ProgramInputs {
 public:
  ProgramInputs(const ir::Graph& graph, hlo::Builder& builder);
  // The values of a region's graph: its inputs are these.
  ProgramInputs(const ir::Graph& graph, hlo::Builder& builder, std::vector<hlo::Value> bound);

  hlo::Builder& builder() { return builder_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  std::vector<Parameter>& parameters() { return parameters_; }

  // The value with its logical sizes, in its own dtype or converted.
  hlo::Value Get(ir::ValueId id);
  hlo::Value GetAs(ir::ValueId id, DType dtype);
  hlo::Type TypeOf(ir::ValueId id) const;
  bool IsHostScalar(ir::ValueId id) const;
  bool IsWrappedNumber(ir::ValueId id) const;
  void SetResult(hlo::Value value) { results_.push_back(value); }

  // The raw buffer and offset of a graph input.
  hlo::Value Buffer(int input);
  hlo::Value Offset(int input);
  // A rank-0 parameter for a scalar argument, or for one entry of a list of them.
  hlo::Value Scalar(int node, int argument, int entry, DType dtype, bool checked);
  hlo::Value RandomState(int node, Parameter::Kind kind);

 private:
  hlo::Value Add(const Parameter& parameter, const hlo::Dims& dims);
  bool IsInput(ir::ValueId id) const;

  const ir::Graph& graph_;
  hlo::Builder& builder_;
  std::vector<Parameter> parameters_;
  std::vector<hlo::Value> results_;
  std::map<std::tuple<int, int, int, int, int, int>, hlo::Value> made_;
  std::map<ir::ValueId, hlo::Value> logical_;
  std::vector<hlo::Value> bound_;
  bool is_region_ = false;
};

}  // namespace tpjrt::lower
