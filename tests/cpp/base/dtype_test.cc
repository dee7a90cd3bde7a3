#include "base/dtype.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tpjrt {
namespace {

constexpr auto kAll = [] {
  std::array<DType, kNumDTypes> all{};
  for (int i = 0; i < kNumDTypes; ++i) all[static_cast<size_t>(i)] = static_cast<DType>(i);
  return all;
}();

TEST(DType, NamesAreUniqueAndRoundTrip) {
  for (DType dtype : kAll) {
    EXPECT_EQ(DTypeFromName(Name(dtype)), dtype);
    EXPECT_GT(ItemSize(dtype), 0U);
  }
  EXPECT_EQ(DTypeFromName("float31"), std::nullopt);
}

TEST(DType, ComputeTypeWidensSmallFloatsOnly) {
  for (DType dtype : kAll) {
    const bool small = IsFloat(dtype) && ItemSize(dtype) < 4;
    EXPECT_EQ(ComputeType(dtype), small ? DType::kF32 : dtype) << Name(dtype);
  }
}

// torch.promote_types, the pairs where rules meet.
TEST(DType, PromotesAsPyTorchDoes) {
  EXPECT_EQ(PromoteTypes(DType::kU8, DType::kI8), DType::kI16);
  EXPECT_EQ(PromoteTypes(DType::kU8, DType::kI64), DType::kI64);
  EXPECT_EQ(PromoteTypes(DType::kBool, DType::kU8), DType::kU8);
  EXPECT_EQ(PromoteTypes(DType::kI64, DType::kF16), DType::kF16);
  EXPECT_EQ(PromoteTypes(DType::kF16, DType::kBF16), DType::kF32);
  EXPECT_EQ(PromoteTypes(DType::kBF16, DType::kF64), DType::kF64);
  EXPECT_EQ(PromoteTypes(DType::kC64, DType::kF64), DType::kC128);
  EXPECT_EQ(PromoteTypes(DType::kC64, DType::kI64), DType::kC64);
  EXPECT_THROW(PromoteTypes(DType::kU32, DType::kI32), Error);
  EXPECT_THROW(PromoteTypes(DType::kF8E5M2, DType::kF32), Error);
}

TEST(DType, PromotionIsSymmetric) {
  for (DType a : kAll) {
    for (DType b : kAll) {
      std::optional<DType> ab, ba;
      try {
        ab = PromoteTypes(a, b);
      } catch (const Error&) {
      }
      try {
        ba = PromoteTypes(b, a);
      } catch (const Error&) {
      }
      EXPECT_EQ(ab, ba) << Name(a) << " " << Name(b);
    }
  }
}

}  // namespace
}  // namespace tpjrt
