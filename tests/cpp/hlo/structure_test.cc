// Shape ops, reductions, indexing, contractions and loops: values, and dims of size 0.
#include <cmath>
#include <limits>

#include "hlo/control.h"
#include "hlo/index.h"
#include "hlo/linalg.h"
#include "hlo/reduce.h"
#include "hlo/run_hlo.h"
#include "hlo/shape.h"

namespace tpjrt::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class HloStructure : public HloExecution {};
TPJRT_FOR_EVERY_PLUGIN(HloStructure);

const Argument kMatrix{{DType::kF32, {2, 3}}, {1, 2, 3, 4, 5, 6}};

TEST_P(HloStructure, ShapeOpsMoveElements) {
  const auto run = [&](auto op) {
    return Run({kMatrix}, [&](Builder& b, const auto& p) { return op(b, p[0]); });
  };
  EXPECT_EQ(run([](Builder&, Value x) { return hlo::SwapDims(x, 0, 1); }),
            (Numbers{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(run([](Builder&, Value x) { return hlo::SliceDim(x, 1, 0, 3, 2); }),
            (Numbers{1, 3, 4, 6}));
  EXPECT_EQ(run([](Builder&, Value x) { return hlo::Reverse(x, {1}); }),
            (Numbers{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(run([](Builder& b, Value x) {
              return hlo::Pad(x, hlo::Constant(b, DType::kF32, 9), {0, -1}, {0, 1}, {0, 1});
            }),
            (Numbers{9, 2, 9, 3, 9, 9, 5, 9, 6, 9}));
  EXPECT_EQ(run([](Builder&, Value x) {
              return hlo::Stack(
                  std::vector<Value>{hlo::SliceDim(x, 0, 1, 2), hlo::SliceDim(x, 0, 0, 1)}, 1);
            }),
            (Numbers{4, 5, 6, 1, 2, 3}));
}

TEST_P(HloStructure, DynamicSlicesReadAndWrite) {
  const Argument start{{DType::kI64, {}}, {1}};
  const std::vector<Argument> arguments = {kMatrix, start};
  EXPECT_EQ(Run(arguments,
                [](Builder& b, const auto& p) {
                  const std::vector<Value> at = {hlo::ConstantInt(b, DType::kI64, 0), p[1]};
                  return hlo::DynamicSlice(p[0], at, {2, 1});
                }),
            (Numbers{2, 5}));
  EXPECT_EQ(Run(arguments,
                [](Builder& b, const auto& p) {
                  const std::vector<Value> at = {p[1], p[1]};
                  return hlo::DynamicUpdateSlice(p[0], hlo::Constant(b, DType::kF32, 0, {1, 2}),
                                                 at);
                }),
            (Numbers{1, 2, 3, 4, 0, 0}));
}

TEST_P(HloStructure, ReductionsHaveTheirIdentities) {
  const auto run = [&](const Argument& x, Value (*reduce)(Value, const hlo::Dims&), int64_t dim) {
    return Run({x}, [&](Builder&, const auto& p) { return reduce(p[0], {dim}); });
  };
  EXPECT_EQ(run(kMatrix, hlo::ReduceSum, 1), (Numbers{6, 15}));
  EXPECT_EQ(run(kMatrix, hlo::ReduceProd, 0), (Numbers{4, 10, 18}));
  EXPECT_EQ(run(kMatrix, hlo::ReduceMin, 1), (Numbers{1, 4}));
  EXPECT_TRUE(std::isnan(run(Vector(DType::kF32, {1, kNan, 3}), hlo::ReduceMax, 0)[0]));
  const Argument none{{DType::kF32, {0, 2}}, {}};
  EXPECT_EQ(run(none, hlo::ReduceSum, 0), (Numbers{0, 0}));
  EXPECT_EQ(run(none, hlo::ReduceProd, 0), (Numbers{1, 1}));
  EXPECT_EQ(run(none, hlo::ReduceMax, 0), (Numbers{-kInf, -kInf}));
  EXPECT_EQ(run(none, hlo::ReduceSum, 1), Numbers{});
}

TEST_P(HloStructure, WindowsSlideAndScatterBack) {
  hlo::Window window = hlo::Window::Unit(1);
  window.sizes = {2};
  window.strides = {2};
  const Argument x = Vector(DType::kF32, {1, 5, 5, 5});
  EXPECT_EQ(Run({x}, [&](Builder&, const auto& p) { return hlo::ReduceWindowSum(p[0], window); }),
            (Numbers{6, 10}));
  EXPECT_EQ(
      Run({x, Vector(DType::kF32, {7, 8})},
          [&](Builder&, const auto& p) { return hlo::SelectAndScatterMax(p[0], p[1], window); }),
      (Numbers{0, 7, 8, 0}));
}

TEST_P(HloStructure, SortsSeveralOperandsByOne) {
  const std::vector<Numbers> sorted = RunAll(
      {Vector(DType::kF32, {3, kNan, 1}), Vector(DType::kI32, {0, 1, 2})},
      [](Builder&, const std::vector<Value>& p) {
        return hlo::Sort(p, 0, true, [](Builder&, std::span<const Value> s) -> std::vector<Value> {
          return {hlo::LtTotalOrder(s[0], s[1])};
        });
      });
  EXPECT_EQ(sorted[1], (Numbers{2, 0, 1}));
}

TEST_P(HloStructure, GathersAndScatters) {
  const Argument indices{{DType::kI64, {2}}, {1, 0}};
  EXPECT_EQ(
      Run({kMatrix, indices}, [](Builder&, const auto& p) { return hlo::TakeDim(p[0], p[1], 0); }),
      (Numbers{4, 5, 6, 1, 2, 3}));
  const Argument positions = Vector(DType::kI64, {0, 2, 0, -1, 9});
  const Argument updates = Vector(DType::kF32, {1, 2, 3, 4, 5});
  const Argument x = Vector(DType::kF32, {10, 20, 30});
  EXPECT_EQ(Run({x, positions, updates},
                [](Builder&, const auto& p) {
                  return hlo::Put(p[0], p[1], p[2], hlo::ScatterKind::kAdd);
                }),
            (Numbers{14, 20, 32}));
}

TEST_P(HloStructure, EmptyTensorsAreReadAndWritten) {
  const Argument none{{DType::kF32, {0}}, {}};
  const Argument indices = Vector(DType::kI64, {0, 1});
  const Argument updates = Vector(DType::kF32, {1, 2});
  EXPECT_EQ(Run({none, indices}, [](Builder&, const auto& p) { return hlo::Take(p[0], p[1]); }),
            (Numbers{0, 0}));
  EXPECT_EQ(Run({none, indices, updates},
                [](Builder&, const auto& p) {
                  return hlo::Put(p[0], p[1], p[2], hlo::ScatterKind::kSet);
                }),
            Numbers{});
  const Argument wide{{DType::kF32, {2, 0}}, {}};
  EXPECT_EQ(Run({wide},
                [](Builder&, const auto& p) {
                  return hlo::MatMul(p[0], hlo::SwapDims(p[0], 0, 1), DType::kF32);
                }),
            (Numbers{0, 0, 0, 0}));
}

TEST_P(HloStructure, ContractsAndConvolves) {
  EXPECT_EQ(Run({kMatrix},
                [](Builder&, const auto& p) {
                  return hlo::MatMul(p[0], hlo::SwapDims(p[0], 0, 1), DType::kF32);
                }),
            (Numbers{14, 32, 32, 77}));
  const Argument signal{{DType::kF32, {1, 1, 4}}, {1, 2, 3, 4}};
  const Argument kernel{{DType::kF32, {1, 1, 2}}, {1, 10}};
  EXPECT_EQ(Run({signal, kernel},
                [](Builder&, const auto& p) {
                  return hlo::Convolution(p[0], p[1], {0, 1, 1, 0, 0, 1, {2}, {2}, {2}},
                                          {{1}, {0}, {0}, {1}, {1}, {false}}, 1, 1);
                }),
            (Numbers{21, 32, 43}));
}

TEST_P(HloStructure, FactorsAndTransforms) {
  const Argument a{{DType::kF32, {2, 2}}, {4, 2, 2, 10}};
  const Numbers factor =
      Run({a}, [](Builder&, const auto& p) { return hlo::Cholesky(p[0], true); });
  EXPECT_EQ(factor[0], 2);
  EXPECT_EQ(factor[2], 1);
  EXPECT_EQ(factor[3], 3);
  const Numbers solved = Run({a, {{DType::kF32, {2, 1}}, {4, 12}}}, [](Builder&, const auto& p) {
    return hlo::TriangularSolve(p[0], p[1], true, true, false, false);
  });
  EXPECT_EQ(solved, (Numbers{1, 1}));
  EXPECT_EQ(Run({Vector(DType::kF32, {1, 0, 0, 0})},
                [](Builder&, const auto& p) { return hlo::Fft(p[0], hlo::FftKind::kRfft, {4}); }),
            (Numbers{1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(RunAll({Vector(DType::kF32, {1, 3, 2})},
                   [](Builder&, const auto& p) { return hlo::TopK(p[0], 2); }),
            (std::vector<Numbers>{{3, 2}, {1, 2}}));
}

TEST_P(HloStructure, LoopsAndBranchesSeeOuterValues) {
  const Argument x = Vector(DType::kF32, {1, 2});
  EXPECT_EQ(Run({x},
                [](Builder& b, const auto& p) {
                  return hlo::ForLoop(
                      b, 3, std::vector<Value>{p[0]},
                      [&](Builder&, std::span<const Value> s) -> std::vector<Value> {
                        return {s[1] + p[0]};
                      })[0];
                }),
            (Numbers{4, 8}));
  for (double flag : {0.0, 1.0}) {
    EXPECT_EQ(Run({x, {{DType::kBool, {}}, {flag}}},
                  [](Builder&, const auto& p) {
                    return hlo::If(
                        p[1], [&](Builder&, auto) { return std::vector<Value>{p[0] * 2.0}; },
                        [&](Builder&, auto) { return std::vector<Value>{-p[0]}; })[0];
                  }),
              flag != 0 ? (Numbers{2, 4}) : (Numbers{-1, -2}));
  }
}

}  // namespace
}  // namespace tpjrt::test
