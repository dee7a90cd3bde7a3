#include "lower/schema.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "lower/registry.h"

namespace tpjrt::lower {
namespace {

TEST(Schema, ReadsArgumentsAndResults) {
  const Schema schema = ParseSchema(
      "add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)");
  EXPECT_EQ(schema.FullName(), "add.out");
  ASSERT_EQ(schema.arguments.size(), 4U);
  EXPECT_EQ(schema.arguments[0].kind, ArgType::kTensor);
  EXPECT_FALSE(schema.arguments[1].keyword_only);
  EXPECT_EQ(schema.arguments[2].kind, ArgType::kScalar);
  EXPECT_TRUE(schema.arguments[2].keyword_only);
  EXPECT_TRUE(schema.arguments[3].is_out);
  EXPECT_EQ(schema.num_results, 1);
  EXPECT_TRUE(schema.result_written[0]);
}

TEST(Schema, ReadsListsOptionalsAndDefaultsWithCommas) {
  const Schema schema = ParseSchema(
      "f(Tensor?[] indices, SymInt[2] size=[0, 1], str mode=\"a, b\", float[]? scale=None, "
      "bool[3] mask, ScalarType? dtype=None, Generator? generator=None) -> (Tensor, Tensor)");
  ASSERT_EQ(schema.arguments.size(), 7U);
  const ArgType kinds[] = {ArgType::kTensorList, ArgType::kIntList,  ArgType::kString,
                           ArgType::kFloatList,  ArgType::kBoolList, ArgType::kDType,
                           ArgType::kGenerator};
  for (size_t i = 0; i < 7; ++i) EXPECT_EQ(schema.arguments[i].kind, kinds[i]) << i;
  EXPECT_TRUE(schema.arguments[3].optional);
  EXPECT_FALSE(schema.arguments[0].optional);
  EXPECT_EQ(schema.IndexOf("mask"), 4);
  EXPECT_EQ(schema.IndexOf("absent"), -1);
  EXPECT_EQ(schema.num_results, 2);
}

TEST(Schema, RefusesWhatItDoesNotUnderstand) {
  EXPECT_THROW(ParseSchema("add"), Error);
  EXPECT_THROW(ParseSchema("add(Tensor) -> Tensor"), Error);
  EXPECT_THROW(ParseSchema("add(Tensor(a! self) -> Tensor"), Error);
}

TEST(Registry, EveryRowIsFoundByItsNameAndOnlyOnce) {
  const Registry& registry = Registry::Get();
  ASSERT_GT(registry.rows().size(), 100U);
  for (size_t i = 0; i < registry.rows().size(); ++i) {
    EXPECT_EQ(registry.Find(registry.rows()[i].schema.FullName()), static_cast<int>(i));
  }
  EXPECT_EQ(registry.Find("no_such_op"), -1);
}

}  // namespace
}  // namespace tpjrt::lower
