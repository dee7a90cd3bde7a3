#include "pjrt/plugin.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "pjrt/run_program.h"
#include "plugins_under_test.h"

namespace tpjrt::test {
namespace {

namespace fs = std::filesystem;
using pjrt::Plugin;

class PluginLoad : public testing::Test {
 protected:
  void SetUp() override {
    std::string folder = (fs::temp_directory_path() / "tpjrt-plugin-XXXXXX").string();
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& content) const {
    const fs::path path = folder_ / name;
    std::ofstream(path, std::ios::binary) << content;
    return path.string();
  }
  // The first `bytes` bytes of the first plugin.
  std::string WriteTruncated(size_t bytes) const {
    std::string content(bytes, '\0');
    std::ifstream(PluginPaths().at(0), std::ios::binary)
        .read(content.data(), static_cast<std::streamsize>(bytes));
    return Write("truncated.so", content);
  }

  fs::path folder_;
};

// The message must name the file and say what is wrong.
void ExpectRefused(const std::string& path, ErrorCode code, const std::string& cause) {
  const Error error = ErrorOf([&] { Plugin::Load(path); });
  const std::string text = error.what();
  EXPECT_EQ(error.code(), code) << text;
  EXPECT_NE(text.find(path), std::string::npos) << text;
  EXPECT_NE(text.find(cause), std::string::npos) << text;
}

TEST_F(PluginLoad, MissingFile) {
  ExpectRefused((folder_ / "none.so").string(), ErrorCode::kNotFound, "No such file");
}

TEST_F(PluginLoad, Folder) {
  ExpectRefused(folder_.string(), ErrorCode::kInvalidArgument, "not a regular file");
}

TEST_F(PluginLoad, NotALibrary) {
  ExpectRefused(Write("text.so", "hello, I am no library, but long enough to be one header, yes"),
                ErrorCode::kInvalidArgument, "not a shared library");
  ExpectRefused(Write("empty.so", ""), ErrorCode::kInvalidArgument, "not a shared library");
}

TEST_F(PluginLoad, TruncatedFile) {
  const size_t whole = fs::file_size(PluginPaths().at(0));
  for (const size_t bytes : {size_t{20}, size_t{64}, size_t{4096}, size_t{1} << 20, whole / 2}) {
    ExpectRefused(WriteTruncated(bytes), ErrorCode::kInvalidArgument, "truncated");
  }
}

TEST_F(PluginLoad, HeaderWithSegmentsPastAnyEnd) {
  std::string content(200, '\0');
  std::ifstream(PluginPaths().at(0), std::ios::binary).read(content.data(), 64);
  content.replace(32, 8, std::string(8, '\xff'));  // e_phoff: the sum overflows
  ExpectRefused(Write("overflow.so", content), ErrorCode::kInvalidArgument, "truncated");
}

TEST_F(PluginLoad, ForeignLibrary) {
  ExpectRefused(TPJRT_FOREIGN_LIBRARY, ErrorCode::kInvalidArgument, "GetPjrtApi");
}

TEST_F(PluginLoad, TooOld) { ExpectRefused(TPJRT_OLD_PLUGIN, ErrorCode::kInvalidArgument, "0.40"); }

TEST_F(PluginLoad, OncePerFile) {
  const std::string path = PluginPaths().at(0);
  const Plugin& plugin = Plugin::Load(path);
  EXPECT_EQ(&Plugin::Load(path), &plugin);
  fs::create_symlink(path, folder_ / "link.so");
  EXPECT_EQ(&Plugin::Load((folder_ / "link.so").string()), &plugin);
}

TEST_F(PluginLoad, HashTellsPluginsApart) {
  std::vector<uint64_t> hashes;
  for (const std::string& path : PluginPaths()) {
    hashes.push_back(Plugin::Load(path).file_hash());
    EXPECT_EQ(Plugin::Load(path).file_hash(), hashes.back());
  }
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::unique(hashes.begin(), hashes.end()), hashes.end());
}

}  // namespace
}  // namespace tpjrt::test
