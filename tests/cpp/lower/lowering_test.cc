#include "lower/lowering.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "lower/registry.h"

namespace tpjrt::lower {
namespace {

ir::Input Tensor(DType dtype, const ir::Dims& dims) {
  ir::Input input;
  input.dtype = dtype;
  input.buffer_dtype = dtype;
  input.buffer_dims = dims;
  input.geometry.sizes = dims;
  input.geometry.strides.assign(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) {
    input.geometry.strides[i - 1] = input.geometry.strides[i] * dims[i];
  }
  return input;
}

// add.Tensor(a, b, alpha), written to a new tensor or into input `written`.
ir::Graph Add(const ir::Dims& dims, int64_t alpha, ir::ValueId written = ir::kNoValue) {
  ir::Graph graph;
  graph.inputs = {Tensor(DType::kF32, dims), Tensor(DType::kF32, dims)};
  ir::Node node;
  node.row = Registry::Get().Find("add.Tensor");
  node.arguments = {ir::TensorArg{0}, ir::TensorArg{1}, ir::Scalar{alpha}};
  node.results = {{DType::kF32, dims}};
  graph.nodes.push_back(node);
  graph.outputs = {{.value = 2, .layout = {}, .written_input = written}};
  return graph;
}

TEST(LowerGraph, SaysWhatTheProgramTakesAndGives) {
  const Program program = LowerGraph(Add({2, 3}, 1));
  EXPECT_EQ(program.unsupported, "");
  ASSERT_EQ(program.parameters.size(), 2U);
  EXPECT_EQ(program.parameters[0].kind, Parameter::Kind::kBuffer);
  EXPECT_EQ(program.parameters[1].input, 1);
  ASSERT_EQ(program.outputs.size(), 1U);
  EXPECT_EQ(program.outputs[0], (hlo::Type{DType::kF32, {2, 3}}));
  EXPECT_NE(program.text.find("stablehlo.add"), std::string::npos);
  EXPECT_EQ(program.text.find("tf.aliasing_output"), std::string::npos);
}

TEST(LowerGraph, TheSameGraphGivesTheSameText) {
  EXPECT_EQ(LowerGraph(Add({4}, 2)).text, LowerGraph(Add({4}, 2)).text);
}

TEST(LowerGraph, ANumberIsARunTimeInputUnlessItIsSpecialOrCaptured) {
  const Program two = LowerGraph(Add({4}, 2));
  EXPECT_EQ(two.text, LowerGraph(Add({4}, 3)).text);
  ASSERT_EQ(two.parameters.size(), 3U);
  EXPECT_EQ(two.parameters[2].kind, Parameter::Kind::kScalar);
  EXPECT_EQ(two.parameters[2].argument, 2);
  EXPECT_TRUE(two.parameters[2].checked);
  EXPECT_EQ(LowerGraph(Add({4}, 1)).parameters.size(), 2U);
  ir::Graph captured = Add({4}, 2);
  captured.captured = true;
  EXPECT_EQ(LowerGraph(captured).parameters.size(), 2U);
}

// _foreach_add.ScalarList(self, numbers) over one-dimensional tensors of these lengths.
ir::Graph AddEach(const std::vector<int64_t>& lengths) {
  ir::Graph graph;
  ir::Node node;
  node.row = Registry::Get().Find("_foreach_add.ScalarList");
  ir::TensorList self;
  std::vector<ir::Scalar> numbers;
  for (size_t i = 0; i < lengths.size(); ++i) {
    graph.inputs.push_back(Tensor(DType::kF32, {lengths[i]}));
    node.results.push_back({DType::kF32, {lengths[i]}});
    self.values.push_back(static_cast<ir::ValueId>(i));
    numbers.push_back({0.5 + static_cast<double>(i)});
    graph.outputs.emplace_back().value = static_cast<ir::ValueId>(lengths.size() + i);
  }
  node.arguments = {self, numbers};
  graph.nodes.push_back(node);
  return graph;
}

TEST(LowerGraph, ARowForListsAppliesAnotherRowToEachEntry) {
  const Program program = LowerGraph(AddEach({2, 3}));
  EXPECT_EQ(program.unsupported, "");
  ASSERT_EQ(program.outputs.size(), 2U);
  EXPECT_EQ(program.outputs[0], (hlo::Type{DType::kF32, {2}}));
  EXPECT_EQ(program.outputs[1], (hlo::Type{DType::kF32, {3}}));
  std::vector<int> entries;
  for (const Parameter& parameter : program.parameters) {
    if (parameter.kind == Parameter::Kind::kScalar) entries.push_back(parameter.entry);
  }
  EXPECT_EQ(entries, (std::vector<int>{0, 1}));
}

TEST(LowerGraph, AWholeWriteMayReuseTheOldBuffer) {
  const Program program = LowerGraph(Add({2, 3}, 1, 0));
  EXPECT_EQ(program.parameters[0].donated_to, 0);
  EXPECT_EQ(program.parameters[1].donated_to, -1);
  EXPECT_NE(program.text.find("tf.aliasing_output"), std::string::npos);
}

TEST(LowerGraph, AWriteThroughAViewReturnsTheWholeStorage) {
  ir::Graph graph = Add({3}, 1, 0);
  graph.inputs[0].buffer_dims = {2, 3};
  graph.inputs[0].geometry.form = ir::Form::kPhysical;
  graph.inputs[0].geometry.zero_offset = false;
  const Program program = LowerGraph(graph);
  EXPECT_EQ(program.outputs[0], (hlo::Type{DType::kF32, {2, 3}}));
  bool has_offset = false;
  for (const Parameter& parameter : program.parameters) {
    has_offset |= parameter.kind == Parameter::Kind::kOffset;
  }
  EXPECT_TRUE(has_offset);
}

TEST(LowerGraph, ALayoutIsTheOrderOfTheBuffer) {
  ir::Graph graph = Add({2, 3}, 1);
  graph.outputs[0].layout = {1, 0};
  EXPECT_EQ(LowerGraph(graph).outputs[0], (hlo::Type{DType::kF32, {3, 2}}));
}

TEST(LowerGraph, DisagreementWithPyTorchIsAnInternalErrorWithBothTypes) {
  ir::Graph graph = Add({2, 3}, 1);
  graph.nodes[0].results = {{DType::kF32, {3, 2}}};
  try {
    LowerGraph(graph);
    FAIL() << "a wrong result type was accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("add.Tensor"), std::string::npos) << error.what();
  }
}

TEST(LowerGraph, AWrongNumberOfArgumentsIsAnInternalError) {
  ir::Graph graph = Add({2}, 1);
  graph.nodes[0].arguments.pop_back();
  EXPECT_THROW(LowerGraph(graph), Error);
}

TEST(Describe, NamesOpTypesAndArguments) {
  EXPECT_EQ(Describe(Add({2, 3}, 4)), "add.Tensor(float32[2, 3], float32[2, 3], alpha=4)");
}

}  // namespace
}  // namespace tpjrt::lower
