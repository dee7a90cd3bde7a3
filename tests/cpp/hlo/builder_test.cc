// The text of modules, and mistakes that the builder names before any compiler sees them.
#include "hlo/builder.h"

#include <gtest/gtest.h>

#include <cmath>

#include "hlo/control.h"
#include "hlo/elementwise.h"
#include "hlo/linalg.h"
#include "hlo/reduce.h"
#include "hlo/shape.h"
#include "pjrt/run_program.h"

namespace tpjrt::test {
namespace {

using hlo::Builder;
using hlo::Type;
using hlo::Value;

const Type kPair{DType::kF32, {2}};

TEST(HloText, AFunctionGivenAsTextJoinsTheModuleOnce) {
  Builder b;
  const Value x = b.Parameter(kPair);
  const std::string text = "func.func private @f(%a: tensor<2xf32>) -> tensor<2xf32> { }\n";
  const Value once = b.Call("f", text, "#a = 1\n", std::vector<Value>{x}, {kPair})[0];
  const Value twice = b.Call("f", text, "#a = 1\n", std::vector<Value>{once}, {kPair})[0];
  EXPECT_THROW(b.Call("f", "another text", "", std::vector<Value>{x}, {kPair}), Error);
  EXPECT_EQ(b.Finish(std::vector<Value>{twice}),
            R"(#a = 1
module @program {
func.func public @main(%0: tensor<2xf32>) -> (tensor<2xf32>) {
%1 = "func.call"(%0) {callee = @f} : (tensor<2xf32>) -> tensor<2xf32>
%2 = "func.call"(%1) {callee = @f} : (tensor<2xf32>) -> tensor<2xf32>
"func.return"(%2) : (tensor<2xf32>) -> ()
}
func.func private @f(%a: tensor<2xf32>) -> tensor<2xf32> { }
}
)");
}

TEST(HloText, AModuleIsParametersOpsAndResults) {
  Builder b;
  const Value x = b.Parameter(kPair);
  const Value y = b.Parameter({DType::kI64, {}});
  b.AliasParameter(0, 0);
  const Value sum = x + hlo::Convert(hlo::BroadcastTo(y, {2}), DType::kF32);
  EXPECT_EQ(b.Finish(std::vector<Value>{sum, y}),
            R"(module @program {
func.func public @main(%0: tensor<2xf32> {tf.aliasing_output = 0 : i32}, %1: tensor<i64>) -> (tensor<2xf32>, tensor<i64>) {
%2 = "stablehlo.broadcast_in_dim"(%1) {broadcast_dimensions = array<i64>} : (tensor<i64>) -> tensor<2xi64>
%3 = "stablehlo.convert"(%2) : (tensor<2xi64>) -> tensor<2xf32>
%4 = "stablehlo.add"(%0, %3) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
"func.return"(%4, %1) : (tensor<2xf32>, tensor<i64>) -> ()
}
}
)");
}

TEST(HloText, RegionsAreNested) {
  Builder b;
  const Value x = b.Parameter(kPair);
  const std::string text = b.Finish(std::vector<Value>{hlo::ReduceSum(x, {0})});
  EXPECT_NE(text.find(R"(%5 = "stablehlo.reduce"(%0, %1) ({
^bb0(%2: tensor<f32>, %3: tensor<f32>):
%4 = "stablehlo.add"(%2, %3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
"stablehlo.return"(%4) : (tensor<f32>) -> ()
}) {dimensions = array<i64: 0>} : (tensor<2xf32>, tensor<f32>) -> tensor<f32>)"),
            std::string::npos)
      << text;
}

TEST(HloTypes, PrintInBothSpellings) {
  EXPECT_EQ(ToHlo(Type{DType::kC64, {2, 0}}), "tensor<2x0xcomplex<f32>>");
  EXPECT_EQ(ToHlo(Type{DType::kBool, {}}), "tensor<i1>");
  EXPECT_EQ(ToString(Type{DType::kBF16, {3}}), "bfloat16[3]");
  EXPECT_EQ(hlo::NumElements({3, 0, 5}), 0);
  EXPECT_THROW(hlo::NumElements({int64_t{1} << 40, int64_t{1} << 40}), Error);
}

// The message names the op and the operand types.
TEST(HloMistakes, NameTheOpAndItsOperands) {
  Builder b;
  const Value x = b.Parameter(kPair);
  const Value y = b.Parameter({DType::kF32, {3}});
  const Error error = ErrorOf([&] { x + y; });
  EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
  EXPECT_STREQ(error.what(),
               "stablehlo.add(float32[2], float32[3]): operands must have equal types");
}

TEST(HloMistakes, AreRefusedForTypesAnOpDoesNotHave) {
  Builder b;
  const Value flag = b.Parameter({DType::kBool, {2}});
  const Value z = b.Parameter({DType::kC64, {2}});
  const Value n = b.Parameter({DType::kI32, {2}});
  const Value x = b.Parameter(kPair);
  for (const auto& mistake :
       std::vector<std::function<void()>>{[&] { flag - flag; },
                                          [&] { flag / flag; },
                                          [&] { hlo::Rem(z, z); },
                                          [&] { hlo::Max(z, z); },
                                          [&] { hlo::Lt(z, z); },
                                          [&] { hlo::Exp(n); },
                                          [&] { hlo::And(x, x); },
                                          [&] { hlo::ShiftLeft(flag, flag); },
                                          [&] { hlo::Select(n, x, x); },
                                          [&] { hlo::BitcastConvert(flag, DType::kI8); },
                                          [&] { hlo::BitcastConvert(z, DType::kI64); },
                                          [&] { hlo::Complex(n, n); },
                                          [&] { hlo::Cholesky(x, true); },
                                          [&] { hlo::Reshape(x, {3}); },
                                          [&] { hlo::Transpose(x, {1}); },
                                          [&] { hlo::SliceDim(x, 0, 0, 3); },
                                          [&] { hlo::BroadcastTo(x, {3}); },
                                          [&] { hlo::ReduceSum(x, {1}); },
                                          [&] { hlo::Constant(b, DType::kU8, 300); },
                                          [&] { hlo::Constant(b, DType::kI32, NAN); },
                                          [&] { hlo::TopK(x, 3); },
                                          [&] { hlo::Iota(b, DType::kF32, {}, 0); }}) {
    EXPECT_EQ(ErrorOf(mistake).code(), ErrorCode::kInvalidArgument);
  }
}

TEST(HloMistakes, IncludeValuesFromElsewhere) {
  Builder b;
  Builder other;
  const Value x = b.Parameter(kPair);
  const Value y = other.Parameter(kPair);
  EXPECT_THROW(x + y, Error);
  EXPECT_THROW(Value().type(), Error);

  Value escaped;
  hlo::ForLoop(b, 2, std::vector<Value>{x}, [&](Builder&, std::span<const Value> s) {
    escaped = s[1] + s[1];
    return std::vector<Value>{escaped};
  });
  EXPECT_THROW(x + escaped, Error);
}

// The compilers refuse what the body of a reduction takes from outside.
TEST(HloMistakes, IncludeCapturesInIsolatedRegions) {
  Builder b;
  const Value x = b.Parameter(kPair);
  const Value zero = b.Parameter({DType::kF32, {}});
  EXPECT_THROW(hlo::Reduce(std::vector<Value>{x}, std::vector<Value>{zero}, {0},
                           [&](Builder&, std::span<const Value> s) -> std::vector<Value> {
                             return {s[0] + s[1] * zero};
                           }),
               Error);
}

TEST(HloMistakes, IncludeRegionsOfTheWrongType) {
  Builder b;
  const Value x = b.Parameter(kPair);
  const auto wrong = [](Builder& b, std::span<const Value>) -> std::vector<Value> {
    return {hlo::Constant(b, DType::kI32, 0)};
  };
  EXPECT_THROW(hlo::While(std::vector<Value>{x}, wrong, wrong), Error);
  EXPECT_THROW(hlo::Sort(std::vector<Value>{x}, 0, true, wrong), Error);
  EXPECT_THROW(hlo::ReduceSum(x, {0, 0}), Error);
}

}  // namespace
}  // namespace tpjrt::test
