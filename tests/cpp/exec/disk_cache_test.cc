// Programs on disk, on every plugin: what comes back runs like what was compiled, and whatever is
// wrong with an entry or a directory is a miss. Other processes:
// tests/python/test_compile_cache.py.
#include "exec/disk_cache.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <map>

#include "exec/program_cache.h"
#include "pjrt/run_program.h"
#include "plugins_under_test.h"
#include "temporary_directory.h"

namespace tpjrt::exec {
namespace {

namespace fs = std::filesystem;
using test::Floats;
using test::TemporaryDirectory;

class DiskCaches : public testing::TestWithParam<std::string> {
 protected:
  const pjrt::Client& client() { return test::ClientOf(GetParam()); }
  DiskCacheConfig Config() {
    DiskCacheConfig config;
    config.directory = temporary_.path();
    config.warn = [this](const std::string& text) { warnings_.push_back(text); };
    return config;
  }
  // A program cache as a new process has it: nothing in memory.
  std::unique_ptr<ProgramCache> NewProcess(DiskCacheConfig config) {
    auto cache = std::make_unique<ProgramCache>();
    cache->SetDisk(std::make_unique<DiskCache>(std::move(config), client()));
    return cache;
  }
  // What a new process does for this program.
  CacheCounters CountersOf(const std::string& text, DiskCacheConfig config) {
    const auto cache = NewProcess(std::move(config));
    Check(*cache->Compile(client(), text, 2));
    return cache->counters();
  }
  CacheCounters CountersOf(const std::string& text) { return CountersOf(text, Config()); }

  void Check(const pjrt::Executable& program) {
    const pjrt::Buffer a = test::Upload(client(), {1, 2, 3}, 1);
    const pjrt::Buffer b = test::Upload(client(), {10, 20, 30}, 1);
    const auto results = test::Execute(client(), program, {&a, &b}, 1);
    EXPECT_EQ(test::Read(results.at(0)), (Floats{11, 22, 33}));
  }
  fs::path OnlyEntry() {
    const auto files = test::Files(temporary_.path(), ".program");
    EXPECT_EQ(files.size(), 1U);
    return files.at(0);
  }

  TemporaryDirectory temporary_;
  std::vector<std::string> warnings_;
  const std::string text_ = test::AddProgram(3);
};

INSTANTIATE_TEST_SUITE_P(Plugins, DiskCaches, testing::ValuesIn(test::PluginPaths()),
                         [](const auto& info) { return test::PluginName(info.param); });

TEST_P(DiskCaches, ASecondProcessCompilesNothing) {
  const CacheCounters first = CountersOf(text_);
  EXPECT_EQ(first.compiled, 1);
  EXPECT_EQ(first.stored, 1);
  EXPECT_EQ(first.disk_hits, 0);
  const CacheCounters second = CountersOf(text_);
  EXPECT_EQ(second.compiled, 0);
  EXPECT_EQ(second.stored, 0);
  EXPECT_EQ(second.disk_hits, 1);
  EXPECT_GT(second.load_seconds, 0);
  EXPECT_EQ(warnings_, std::vector<std::string>());
}

TEST_P(DiskCaches, ALoadedProgramDonatesAndCountsLikeTheCompiledOne) {
  const std::string text = test::AddProgram(3, "{tf.aliasing_output = 0 : i32}");
  const auto compiled = NewProcess(Config())->Compile(client(), text, 2);
  const auto cache = NewProcess(Config());
  const auto loaded = cache->Compile(client(), text, 2);
  ASSERT_EQ(cache->counters().disk_hits, 1);
  EXPECT_EQ(loaded->num_parameters(), 2);
  EXPECT_EQ(loaded->num_outputs(), 1);
  EXPECT_EQ(loaded->output_dims(0), compiled->output_dims(0));
  EXPECT_EQ(loaded->temp_bytes(), compiled->temp_bytes());
  const pjrt::Buffer a = test::Upload(client(), {1, 2, 3});
  const pjrt::Buffer b = test::Upload(client(), {1, 1, 1});
  const auto results = test::Execute(client(), *loaded, {&a, &b});
  EXPECT_EQ(test::Read(results.at(0)), (Floats{2, 3, 4}));
  EXPECT_THROW(test::Read(a), Error) << "the input was not donated";
}

TEST_P(DiskCaches, EveryKindOfDamageIsAMissAndRepaired) {
  CountersOf(text_);
  const fs::path path = OnlyEntry();
  const std::string whole = test::Content(path);
  std::string changed = whole;
  changed[whole.size() - 10] ^= 1;
  const std::map<std::string, std::string> damages = {
      {"zero length", ""},
      {"truncated head", whole.substr(0, 50)},
      {"truncated", whole.substr(0, whole.size() - 1)},
      {"changed", changed},
      {"foreign", std::string(whole.size(), 'x')},
      {"longer", whole + "x"},
  };
  for (const auto& [what, content] : damages) {
    test::SetContent(path, content);
    const CacheCounters counters = CountersOf(text_);
    EXPECT_EQ(counters.rejected, 1) << what;
    EXPECT_EQ(counters.compiled, 1) << what;
    EXPECT_EQ(CountersOf(text_).disk_hits, 1) << what << ": was not written again";
  }
}

TEST_P(DiskCaches, WhatThePluginRefusesIsAMissAndRemoved) {
  CountersOf(text_);
  const fs::path path = OnlyEntry();
  const auto head = DecodeHead(test::Content(path));
  ASSERT_TRUE(head.has_value());
  const std::string blob = "no program of this plugin";
  test::SetContent(path, EncodeHead(*head, blob) + blob);
  const CacheCounters counters = CountersOf(text_);
  EXPECT_EQ(counters.rejected, 1);
  EXPECT_EQ(counters.compiled, 1);
  EXPECT_EQ(CountersOf(text_).disk_hits, 1);
}

TEST_P(DiskCaches, AnEntryUnderAnotherProgramsNameIsAMiss) {
  CountersOf(text_);
  const fs::path path = OnlyEntry();
  const std::string content = test::Content(path);
  fs::remove(path);
  const std::string other = "// the same otherwise\n" + text_;
  CountersOf(other);
  test::SetContent(OnlyEntry(), content);
  const CacheCounters counters = CountersOf(other);
  EXPECT_EQ(counters.rejected, 1);
  EXPECT_EQ(counters.compiled, 1);
}

TEST_P(DiskCaches, OtherPluginsEntriesAreNotTaken) {
  for (const std::string& path : test::PluginPaths()) {
    ProgramCache cache;
    cache.SetDisk(std::make_unique<DiskCache>(Config(), test::ClientOf(path)));
    cache.Compile(test::ClientOf(path), text_, 2);
    EXPECT_EQ(cache.counters().compiled, 1);
  }
  EXPECT_EQ(test::Files(temporary_.path(), ".program").size(), test::PluginPaths().size());
  EXPECT_EQ(CountersOf(text_).disk_hits, 1);
}

TEST_P(DiskCaches, OtherSettingsOfTheCompilerAreAnotherProgram) {
  CountersOf(text_);
  DiskCacheConfig config = Config();
  config.environment = {{"compiler variables", "XLA_FLAGS=--something"}};
  EXPECT_EQ(CountersOf(text_, config).compiled, 1);
  EXPECT_EQ(CountersOf(text_, config).disk_hits, 1);
}

TEST_P(DiskCaches, TheReadOnlyDirectoryIsLookedUpAndNotWritten) {
  const TemporaryDirectory shared;
  DiskCacheConfig fill = Config();
  fill.directory = shared.path();
  CountersOf(text_, fill);
  const auto before = test::Files(shared.path(), "").size();
  DiskCacheConfig config = Config();
  config.read_only_directory = shared.path();
  EXPECT_EQ(CountersOf(text_, config).disk_hits, 1);
  EXPECT_EQ(CountersOf(test::AddProgram(3) + "\n", config).compiled, 1);
  EXPECT_EQ(test::Files(shared.path(), "").size(), before);
  config.directory.clear();
  const CacheCounters alone = CountersOf(text_, config);
  EXPECT_EQ(alone.disk_hits, 1);
  EXPECT_EQ(alone.compiled, 0);
}

TEST_P(DiskCaches, ADirectoryThatOthersCanWriteIsRefusedWithOneWarning) {
  CountersOf(text_);
  ASSERT_EQ(chmod(temporary_.path().c_str(), 0777), 0);
  const auto cache = NewProcess(Config());
  Check(*cache->Compile(client(), text_, 2));
  Check(*cache->Compile(client(), text_ + "\n", 2));
  EXPECT_EQ(cache->counters().compiled, 2);
  EXPECT_FALSE(cache->disk()->usable());
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_NE(warnings_[0].find(temporary_.path().string()), std::string::npos);
  EXPECT_NE(warnings_[0].find("TORCH_PJRT_CACHE_DIR"), std::string::npos);
}

// A real end of space: the limit that ulimit -f sets.
TEST_P(DiskCaches, AFullDiskIsAWarningAndNothingElse) {
  const auto cache = NewProcess(Config());
  cache->disk()->Environment();  // keeps the plugin's hash
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto first = cache->Compile(client(), text_, 2);
  const auto second = cache->Compile(client(), text_ + "\n", 2);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, handler);
  Check(*first);
  Check(*second);
  EXPECT_EQ(cache->counters().stored, 0);
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_NE(warnings_[0].find("File too large"), std::string::npos) << warnings_[0];
  EXPECT_TRUE(test::Files(temporary_.path(), ".program").empty());
  EXPECT_TRUE(test::Files(temporary_.path(), "tmp-").empty());
}

TEST_P(DiskCaches, StaysWithinItsSizeAndKeepsWhatIsUsed) {
  CountersOf(text_);
  const auto size = static_cast<int64_t>(fs::file_size(OnlyEntry()));
  DiskCacheConfig config = Config();
  config.size_limit = 4 * size + size / 2;
  for (int i = 1; i <= 8; ++i) {
    const std::string more = text_ + std::string(static_cast<size_t>(i), '\n');
    EXPECT_EQ(CountersOf(more, config).compiled, 1);
    EXPECT_EQ(CountersOf(text_, config).disk_hits, 1) << "the one in use was evicted, round " << i;
    int64_t total = 0;
    for (const fs::path& path : test::Files(temporary_.path(), ".program")) {
      total += static_cast<int64_t>(fs::file_size(path));
    }
    EXPECT_LE(total, config.size_limit);
  }
  EXPECT_GE(test::Files(temporary_.path(), ".program").size(), 3U);
}

TEST_P(DiskCaches, AProgramLargerThanTheCacheIsNotStored) {
  DiskCacheConfig config = Config();
  config.size_limit = 100;
  const CacheCounters counters = CountersOf(text_, config);
  EXPECT_EQ(counters.compiled, 1);
  EXPECT_EQ(counters.stored, 0);
  EXPECT_TRUE(warnings_.empty());
}

TEST_P(DiskCaches, MissesAreRemembered) {
  CountersOf(text_);
  const auto cache = NewProcess(Config());
  cache->Compile(client(), text_, 2);
  cache->Compile(client(), text_ + "\n", 2);
  const auto misses = cache->disk()->Misses();
  ASSERT_EQ(misses.size(), 1U);
  EXPECT_EQ(misses[0].text, text_ + "\n");
  EXPECT_EQ(misses[0].key, ProgramKey(Sha256::Of(text_ + "\n"), cache->disk()->Environment()));
}

TEST_P(DiskCaches, ThePluginIsReadOnceAndItsHashKept) {
  CountersOf(text_);
  const auto kept = test::Files(temporary_.path(), ".hash");
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(test::Content(kept[0]).size(), 20U);
  EXPECT_EQ(std::stoull(test::Content(kept[0])), client().plugin().file_hash());
  test::SetContent(kept[0], "damaged");
  EXPECT_EQ(CountersOf(text_).disk_hits, 1);
  EXPECT_EQ(std::stoull(test::Content(kept[0])), client().plugin().file_hash());
}

}  // namespace
}  // namespace tpjrt::exec
