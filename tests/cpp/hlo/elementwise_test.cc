// Values of elementwise ops where PyTorch, C and StableHLO could disagree.
#include "hlo/elementwise.h"

#include <cmath>
#include <limits>

#include "hlo/run_hlo.h"

namespace tpjrt::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class HloElementwise : public HloExecution {};
TPJRT_FOR_EVERY_PLUGIN(HloElementwise);

TEST_P(HloElementwise, IntegerArithmeticTruncatesAndWraps) {
  const Argument a = Vector(DType::kI8, {7, -7, 127, -128});
  const Argument b = Vector(DType::kI8, {2, 2, 1, 3});
  EXPECT_EQ(Run({a, b}, [](Builder&, const auto& p) { return p[0] / p[1]; }),
            (Numbers{3, -3, 127, -42}));
  EXPECT_EQ(Run({a, b}, [](Builder&, const auto& p) { return hlo::Rem(p[0], p[1]); }),
            (Numbers{1, -1, 0, -2}));
  EXPECT_EQ(Run({a, b}, [](Builder&, const auto& p) { return p[0] + p[1]; }),
            (Numbers{9, -5, -128, -125}));
}

TEST_P(HloElementwise, BoolArithmeticIsLogic) {
  const Argument a = Vector(DType::kBool, {0, 0, 1, 1});
  const Argument b = Vector(DType::kBool, {0, 1, 0, 1});
  EXPECT_EQ(Run({a, b}, [](Builder&, const auto& p) { return p[0] + p[1]; }),
            (Numbers{0, 1, 1, 1}));
  EXPECT_EQ(Run({a, b}, [](Builder&, const auto& p) { return p[0] * p[1]; }),
            (Numbers{0, 0, 0, 1}));
  EXPECT_EQ(Run({a, b}, [](Builder&, const auto& p) { return hlo::Lt(p[0], p[1]); }),
            (Numbers{0, 1, 0, 0}));
}

TEST_P(HloElementwise, ExtremaAndComparisonsFollowIeee) {
  const Argument a = Vector(DType::kF32, {kNan, 1, 2});
  const Argument b = Vector(DType::kF32, {1, kNan, 3});
  const Numbers largest = Run({a, b}, [](Builder&, const auto& p) { return hlo::Max(p[0], p[1]); });
  EXPECT_TRUE(std::isnan(largest[0]) && std::isnan(largest[1]));
  EXPECT_EQ(largest[2], 3);
  EXPECT_EQ(Run({a, a}, [](Builder&, const auto& p) { return hlo::Eq(p[0], p[1]); }),
            (Numbers{0, 1, 1}));
  EXPECT_EQ(Run({a}, [](Builder&, const auto& p) { return hlo::IsNan(p[0]); }), (Numbers{1, 0, 0}));
}

TEST_P(HloElementwise, TotalOrderPutsNanLast) {
  const Argument a = Vector(DType::kF32, {kNan, kInf, -0.0});
  const Argument b = Vector(DType::kF32, {kInf, kNan, 0.0});
  EXPECT_EQ(Run({a, b}, [](Builder&, const auto& p) { return hlo::LtTotalOrder(p[0], p[1]); }),
            (Numbers{0, 1, 1}));
}

TEST_P(HloElementwise, ConversionsMeanWhatPyTorchMeans) {
  const Argument x = Vector(DType::kF32, {0.5, -1.5, 0, 300, kNan});
  EXPECT_EQ(Run({x}, [](Builder&, const auto& p) { return hlo::Convert(p[0], DType::kBool); }),
            (Numbers{1, 1, 0, 1, 1}));
  const Argument y = Vector(DType::kF32, {0.5, -1.5, 300});
  EXPECT_EQ(Run({y}, [](Builder&, const auto& p) { return hlo::Convert(p[0], DType::kI64); }),
            (Numbers{0, -1, 300}));
  EXPECT_EQ(Run({y}, [](Builder&, const auto& p) { return hlo::Convert(p[0], DType::kU8); }),
            (Numbers{0, 255, 44}));
  const Argument wide = Vector(DType::kI64, {257, -1});
  EXPECT_EQ(Run({wide}, [](Builder&, const auto& p) { return hlo::Convert(p[0], DType::kI8); }),
            (Numbers{1, -1}));
}

TEST_P(HloElementwise, EveryConversionCompiles) {
  for (int from = 0; from < kNumDTypes; ++from) {
    const Numbers ones = Run({}, [&](Builder& b, const auto&) {
      const Value one = hlo::Constant(b, static_cast<DType>(from), 1, {1});
      Value sum = hlo::Constant(b, DType::kF64, 0, {1});
      for (int to = 0; to < kNumDTypes; ++to) {
        sum = sum + hlo::Convert(hlo::Convert(one, static_cast<DType>(to)), DType::kF64);
      }
      return sum;
    });
    EXPECT_EQ(ones, Numbers{kNumDTypes}) << Name(static_cast<DType>(from));
  }
}

TEST_P(HloElementwise, ComplexPartsComeApartAndTogether) {
  const Argument re = Vector(DType::kF32, {3, 0});
  const Argument im = Vector(DType::kF32, {4, kNan});
  const auto join = [](const auto& p) { return hlo::Complex(p[0], p[1]); };
  EXPECT_EQ(
      Run({re, im}, [&](Builder&, const auto& p) { return hlo::Imag(hlo::Conj(join(p))); })[0], -4);
  EXPECT_EQ(Run({re, im}, [&](Builder&, const auto& p) { return hlo::Abs(join(p)); })[0], 5);
  EXPECT_EQ(Run({re, im}, [&](Builder&, const auto& p) { return hlo::IsNan(join(p)); }),
            (Numbers{0, 1}));
  EXPECT_EQ(
      Run({re, im}, [&](Builder&, const auto& p) { return hlo::Convert(join(p), DType::kF64); }),
      (Numbers{3, 0}));
}

TEST_P(HloElementwise, BitcastsKeepBits) {
  const Argument one = Vector(DType::kF32, {1});
  EXPECT_EQ(
      Run({one}, [](Builder&, const auto& p) { return hlo::BitcastConvert(p[0], DType::kU32); }),
      Numbers{0x3F800000});
  EXPECT_EQ(Run({one},
                [](Builder&, const auto& p) {
                  return hlo::BitcastConvert(p[0], Type{DType::kU16, {1, 2}});
                }),
            (Numbers{0, 0x3F80}));
}

TEST_P(HloElementwise, RoundingKeepsTheSignOfZero) {
  const Argument x = Vector(DType::kF64, {0.5, 1.5, -0.5, 2.7, -2.7});
  EXPECT_EQ(Run({x}, [](Builder&, const auto& p) { return hlo::RoundEven(p[0]); }),
            (Numbers{0, 2, 0, 3, -3}));
  const Numbers whole = Run({x}, [](Builder&, const auto& p) { return hlo::Trunc(p[0]); });
  EXPECT_EQ(whole, (Numbers{0, 1, 0, 2, -2}));
  EXPECT_TRUE(std::signbit(whole[2]));
}

}  // namespace
}  // namespace tpjrt::test
