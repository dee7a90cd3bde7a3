#include "lower/promote.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tpjrt::lower {
namespace {

TEST(Promotion, DimensionedTensorsComeBeforeNumbers) {
  Promotion p;
  p.AddTensor(DType::kBF16, 2);
  p.AddTensor(DType::kF64, 0);
  p.AddScalar({2.5});
  EXPECT_EQ(p.Result(), DType::kBF16);
}

TEST(Promotion, AHigherCategoryWins) {
  Promotion p;
  p.AddTensor(DType::kI32, 1);
  p.AddScalar({int64_t{3}});
  EXPECT_EQ(p.Result(), DType::kI32);
  p.AddScalar({2.5});
  EXPECT_EQ(p.Result(), DType::kF32);
  p.AddTensor(DType::kF64, 0);
  EXPECT_EQ(p.Result(), DType::kF64);
}

TEST(Promotion, NumbersAloneTakeTheirDefaults) {
  Promotion p;
  p.AddScalar({true});
  EXPECT_EQ(p.Result(), DType::kBool);
  p.AddScalar({int64_t{3}});
  EXPECT_EQ(p.Result(), DType::kI64);
  p.AddScalar({std::complex<double>(0, 1)});
  EXPECT_EQ(p.Result(), DType::kC64);
}

TEST(Promotion, OfNothingIsAnError) { EXPECT_THROW(Promotion().Result(), Error); }

}  // namespace
}  // namespace tpjrt::lower
