#include "pjrt/shared_library.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace tpjrt::pjrt {
namespace {

class HashFileTest : public testing::Test {
 protected:
  uint64_t HashOf(const std::string& content) {
    const auto path =
        std::filesystem::temp_directory_path() / ("tpjrt-hash-" + std::to_string(getpid()));
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
    const uint64_t hash = HashFile(path.string());
    std::filesystem::remove(path);
    return hash;
  }
};

TEST_F(HashFileTest, SeesEveryByteAndTheLength) {
  const std::string base((size_t{1} << 20) + 5, 'a');  // more than one block, an odd tail
  const uint64_t hash = HashOf(base);
  EXPECT_EQ(HashOf(base), hash);
  for (const size_t at : {size_t{0}, size_t{7}, base.size() / 2, base.size() - 1}) {
    std::string changed = base;
    changed[at] = 'b';
    EXPECT_NE(HashOf(changed), hash) << at;
  }
  EXPECT_NE(HashOf(base + std::string(1, '\0')), hash);
  EXPECT_NE(HashOf(""), HashOf(std::string(1, '\0')));
}

TEST_F(HashFileTest, MissingFileIsAnError) { EXPECT_THROW(HashFile("/nonexistent/file"), Error); }

}  // namespace
}  // namespace tpjrt::pjrt
