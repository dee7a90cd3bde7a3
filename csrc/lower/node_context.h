// The Context of one node of a graph being lowered.
#pragma once

#include <string>
#include <vector>

#include "lower/context.h"
#include "lower/program_inputs.h"
#include "lower/registry.h"

namespace tpjrt::lower {

class NodeContext final : public Context {
 public:
  NodeContext(const ir::Graph& graph, int node, ProgramInputs& inputs);
  // One application of row `each` of node `node`: `entry_node` has the arguments and the result of
  // entry `entry` of the lists. Keeps a reference to entry_node.
  NodeContext(const ir::Graph& graph, int node, const ir::Node& entry_node, int entry,
              ProgramInputs& inputs);

  hlo::Builder& builder() override { return inputs_.builder(); }
  bool Has(std::string_view name) override;
  Value Tensor(std::string_view name) override;
  Value TensorAs(std::string_view name, DType dtype) override;
  Type TensorType(std::string_view name) override;
  std::vector<Value> TensorList(std::string_view name) override;
  std::vector<Value> TensorListAs(std::string_view name, DType dtype) override;
  Value Scalar(std::string_view name, DType dtype) override;
  Value ScalarAt(std::string_view name, size_t entry, DType dtype) override;
  ScalarKind KindOf(std::string_view name) override;
  bool IsStatic(std::string_view name) override;
  double StaticDouble(std::string_view name) override;
  int64_t StaticInt(std::string_view name) override;
  int64_t Int(std::string_view name) override;
  bool Bool(std::string_view name) override;
  Dims Ints(std::string_view name) override;
  std::vector<bool> Bools(std::string_view name) override;
  std::string String(std::string_view name) override;
  DType Dtype(std::string_view name) override;
  Value Seed() override;
  Value Offset() override;
  int num_results() override { return static_cast<int>(results_.size()); }
  const Type& Result(int i) override;
  DType Promoted(std::span<const std::string_view> names) override;

 private:
  int IndexOf(std::string_view name) const;
  const ir::Argument& ArgumentNamed(std::string_view name) const;
  template <typename T>
  const T& Get(std::string_view name, const char* what) const;
  Value Number(std::string_view name, const ir::Scalar& number, DType dtype);
  const ir::Scalar* NumberNamed(std::string_view name) const;  // nullptr: it is no number
  ir::Scalar ScalarNamed(std::string_view name) const;         // also an int
  ir::Scalar EntryOf(std::string_view name, size_t entry) const;
  Value RuntimeScalar(std::string_view name, int entry, const ir::Scalar& scalar, DType dtype);

  const ir::Graph& graph_;
  const ir::Node& node_;
  int node_index_;
  int entry_ = 0;
  const RegisteredRow& row_;
  ProgramInputs& inputs_;
  std::vector<Type> results_;
};

}  // namespace tpjrt::lower
