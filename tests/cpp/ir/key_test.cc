#include "ir/key.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace tpjrt::ir {
namespace {

std::vector<uint64_t> Words(const KeyBuilder& key) {
  return {key.words().begin(), key.words().end()};
}

TEST(Key, KeepsWordsPastItsInlineSpace) {
  KeyBuilder key;
  std::vector<uint64_t> expected;
  for (uint64_t i = 0; i < 200; ++i) {
    key.Add(i);
    expected.push_back(i);
    ASSERT_EQ(Words(key), expected);
  }
}

TEST(Key, ListsAndTextsCannotBeConfused) {
  KeyBuilder a, b, c, d;
  a.AddList(std::vector<int64_t>{1, 2});
  a.AddList(std::vector<int64_t>{});
  b.AddList(std::vector<int64_t>{1});
  b.AddList(std::vector<int64_t>{2});
  c.AddText("sum");
  c.AddText("");
  d.AddText("su");
  d.AddText("m");
  EXPECT_NE(Words(a), Words(b));
  EXPECT_NE(Words(c), Words(d));
}

TEST(KeyMap, FindsWhatWasInsertedAndKeepsTheFirst) {
  KeyMap<std::string> map;
  const std::vector<uint64_t> one = {1}, other = {1, 0};
  EXPECT_EQ(map.Find(one), nullptr);
  std::string* first = map.Insert(one, std::make_unique<std::string>("first"));
  EXPECT_EQ(map.Insert(one, std::make_unique<std::string>("second")), first);
  EXPECT_EQ(*map.Find(one), "first");
  EXPECT_EQ(map.Find(other), nullptr);
}

TEST(KeyMap, ManyThreadsAgree) {
  KeyMap<int> map;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&map, t] {
      for (uint64_t i = 0; i < 1000; ++i) {
        const std::vector<uint64_t> key = {i};
        if (map.Find(key) == nullptr) map.Insert(key, std::make_unique<int>(t));
        ASSERT_NE(map.Find(key), nullptr);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(map.size(), 1000U);
}

}  // namespace
}  // namespace tpjrt::ir
