// Constants arrive on the device bit by bit.
#include <bit>
#include <cmath>
#include <limits>

#include "hlo/float_bits.h"
#include "hlo/run_hlo.h"

namespace tpjrt::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(FloatBits, RoundsHalfToEven) {
  EXPECT_EQ(hlo::FloatBits(DType::kF16, 1.0), 0x3C00u);
  EXPECT_EQ(hlo::FloatBits(DType::kF16, -2.0), 0xC000u);
  EXPECT_EQ(hlo::FloatBits(DType::kF16, 65504), 0x7BFFu);
  EXPECT_EQ(hlo::FloatBits(DType::kF16, 65519.999), 0x7BFFu);
  EXPECT_EQ(hlo::FloatBits(DType::kF16, 65520), 0x7C00u);
  EXPECT_EQ(hlo::FloatBits(DType::kF16, 0x1p-24), 0x0001u);  // the smallest subnormal
  EXPECT_EQ(hlo::FloatBits(DType::kF16, 0x1p-25), 0x0000u);  // a tie, to even
  EXPECT_EQ(hlo::FloatBits(DType::kF16, 1 + 0x1p-11), 0x3C00u);
  EXPECT_EQ(hlo::FloatBits(DType::kF16, 1 + 3 * 0x1p-11), 0x3C02u);
  EXPECT_EQ(hlo::FloatBits(DType::kBF16, 1 + 0x1p-8 + 0x1p-40), 0x3F81u);
  EXPECT_EQ(hlo::FloatBits(DType::kBF16, -0.0), 0x8000u);
  EXPECT_EQ(hlo::FloatBits(DType::kF32, 0.1), 0x3DCCCCCDu);
  EXPECT_EQ(hlo::FloatBits(DType::kF64, 0.1), 0x3FB999999999999Au);
}

TEST(FloatBits, KnowsTheSmallFormatsEnds) {
  EXPECT_EQ(hlo::FloatBits(DType::kF8E4M3FN, 448), 0x7Eu);
  EXPECT_EQ(hlo::FloatBits(DType::kF8E4M3FN, 1e6), 0x7Fu);  // no infinity: NaN
  EXPECT_EQ(hlo::FloatBits(DType::kF8E5M2, 57344), 0x7Bu);
  EXPECT_EQ(hlo::FloatBits(DType::kF8E5M2, -kInf), 0xFCu);
  EXPECT_EQ(hlo::FloatBits(DType::kF8E4M3FNUZ, -0.0), 0x00u);
  EXPECT_EQ(hlo::FloatBits(DType::kF8E5M2FNUZ, kInf), 0x80u);
}

class HloConstant : public HloExecution {};
TPJRT_FOR_EVERY_PLUGIN(HloConstant);

TEST_P(HloConstant, FloatsKeepTheirBits) {
  for (double number : {0.1, -0.0, 1e-30, 3.4028234663852886e38, kInf, -kInf, 123456.0}) {
    const Numbers out = Run(
        {}, [&](Builder& b, const auto&) { return hlo::Constant(b, DType::kF32, number, {2}); });
    ASSERT_EQ(out.size(), 2u);
    EXPECT_EQ(std::bit_cast<uint32_t>(static_cast<float>(out[1])),
              std::bit_cast<uint32_t>(static_cast<float>(number)))
        << number;
  }
  EXPECT_TRUE(std::isnan(
      Run({}, [](Builder& b, const auto&) { return hlo::Constant(b, DType::kF64, NAN); })[0]));
}

TEST_P(HloConstant, IntegersReachTheEndsOfTheirRange) {
  const auto run = [&](auto make) {
    return Run({}, [&](Builder& b, const auto&) { return make(b); });
  };
  EXPECT_EQ(run([](Builder& b) { return hlo::LowestValue(b, DType::kI8, {1}); }), Numbers{-128});
  EXPECT_EQ(run([](Builder& b) { return hlo::HighestValue(b, DType::kU8); }), Numbers{255});
  EXPECT_EQ(run([](Builder& b) { return hlo::HighestValue(b, DType::kI64); }), Numbers{0x1p63});
  EXPECT_EQ(run([](Builder& b) { return hlo::HighestValue(b, DType::kBool); }), Numbers{1});
  EXPECT_EQ(run([](Builder& b) { return hlo::ConstantInt(b, DType::kI64, int64_t{1} << 53); }),
            Numbers{0x1p53});
}

TEST_P(HloConstant, ListsComplexNumbersAndNothing) {
  EXPECT_EQ(
      Run({}, [](Builder& b,
                 const auto&) { return hlo::ConstantList(b, DType::kI32, {1, -2, 3, 4}, {2, 2}); }),
      (Numbers{1, -2, 3, 4}));
  EXPECT_EQ(
      Run({}, [](Builder& b,
                 const auto&) { return hlo::ConstantComplex(b, DType::kC64, {0.5, -kInf}, {1}); }),
      (Numbers{0.5, -kInf}));
  for (DType dtype : {DType::kF32, DType::kBool, DType::kI64, DType::kC64}) {
    EXPECT_EQ(Run({}, [&](Builder& b, const auto&) { return hlo::Constant(b, dtype, 1, {2, 0}); }),
              Numbers{});
  }
}

}  // namespace
}  // namespace tpjrt::test
