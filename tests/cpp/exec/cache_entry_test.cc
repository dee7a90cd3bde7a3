// The file format: everything comes back, and nothing but a whole entry is accepted.
#include "exec/cache_entry.h"

#include <gtest/gtest.h>

namespace tpjrt::exec {
namespace {

EntryHead ExampleHead() {
  EntryHead head;
  head.key = Sha256::Of("key");
  head.text_digest = Sha256::Of("text");
  head.created_ns = 1234567890123456789;
  head.compile_ns = 42;
  head.run = "7-8";
  head.environment = {{"plugin file", "0123"}, {"CPU", "a b c"}, {"empty", ""}};
  head.text_size = 4;
  head.text = "text";
  return head;
}

const std::string kBlob = "the plugin's own bytes\0with a zero";

TEST(CacheEntry, ComesBackWhole) {
  const EntryHead head = ExampleHead();
  const std::string file = EncodeHead(head, kBlob) + kBlob;
  EXPECT_EQ(DecodeBlob(file, head.key), kBlob);
  const auto read = DecodeHead(file);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->key, head.key);
  EXPECT_EQ(read->text_digest, head.text_digest);
  EXPECT_EQ(read->created_ns, head.created_ns);
  EXPECT_EQ(read->compile_ns, head.compile_ns);
  EXPECT_EQ(read->run, head.run);
  EXPECT_EQ(read->environment, head.environment);
  EXPECT_EQ(read->text_size, head.text_size);
  EXPECT_EQ(read->text, head.text);
}

TEST(CacheEntry, AHeadIsReadWithoutItsBlob) {
  EXPECT_TRUE(DecodeHead(EncodeHead(ExampleHead(), kBlob)).has_value());
}

TEST(CacheEntry, EveryTruncationIsNoEntry) {
  const EntryHead head = ExampleHead();
  const std::string encoded = EncodeHead(head, kBlob);
  const std::string file = encoded + kBlob;
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_FALSE(DecodeBlob(file.substr(0, size), head.key).has_value()) << size;
    EXPECT_EQ(DecodeHead(file.substr(0, size)).has_value(), size >= encoded.size()) << size;
  }
  EXPECT_FALSE(DecodeBlob(file + "x", head.key).has_value());
}

TEST(CacheEntry, EveryChangedByteIsNoEntry) {
  const EntryHead head = ExampleHead();
  const std::string file = EncodeHead(head, kBlob) + kBlob;
  for (size_t i = 0; i < file.size(); ++i) {
    for (const int bit : {0, 7}) {
      std::string changed = file;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      EXPECT_FALSE(DecodeBlob(changed, head.key).has_value()) << i;
    }
  }
}

TEST(CacheEntry, AnotherProgramsEntryIsNone) {
  const std::string file = EncodeHead(ExampleHead(), kBlob) + kBlob;
  EXPECT_FALSE(DecodeBlob(file, Sha256::Of("another key")).has_value());
}

TEST(ProgramKey, DependsOnEveryPart) {
  const Digest text = Sha256::Of("text");
  const KeyParts parts = {{"a", "bc"}, {"d", "e"}};
  const Digest key = ProgramKey(text, parts);
  EXPECT_EQ(ProgramKey(text, {{"a", "bc"}, {"d", "e"}}), key);
  EXPECT_NE(ProgramKey(Sha256::Of("other"), parts), key);
  EXPECT_NE(ProgramKey(text, {{"ab", "c"}, {"d", "e"}}), key);
  EXPECT_NE(ProgramKey(text, {{"a", "bc"}, {"d", "f"}}), key);
  EXPECT_NE(ProgramKey(text, {{"a", "bc"}}), key);
}

TEST(ProgramKey, TheCpuIsDescribed) {
  const std::string cpu = CpuDescription();
  EXPECT_NE(cpu.find(" family "), cpu.npos) << cpu;
  EXPECT_NE(cpu.find("sse2"), cpu.npos) << cpu;
}

}  // namespace
}  // namespace tpjrt::exec
