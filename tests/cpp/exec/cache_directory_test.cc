// Files that appear whole, directories that cannot be trusted, leftovers of writers that died.
#include "exec/cache_directory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "temporary_directory.h"

namespace tpjrt::exec {
namespace {

namespace fs = std::filesystem;
using test::TemporaryDirectory;

std::unique_ptr<CacheDirectory> Open(const fs::path& path) {
  std::string refusal;
  auto directory = CacheDirectory::Open(path, true, &refusal);
  EXPECT_NE(directory, nullptr) << refusal;
  return directory;
}

std::string RefusalOf(const fs::path& path, bool create = false) {
  std::string refusal;
  EXPECT_EQ(CacheDirectory::Open(path, create, &refusal), nullptr);
  return refusal;
}

bool Write(const CacheDirectory& directory, const std::string& name, std::string_view content) {
  std::string reason;
  return directory.Write(name, std::array{content}, &reason);
}

void SetAge(const fs::path& path, int64_t seconds) {
  timespec times[2];
  clock_gettime(CLOCK_REALTIME, &times[0]);
  times[0].tv_sec -= seconds;
  times[1] = times[0];
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

TEST(CacheDirectory, IsMadeForThisUserAlone) {
  const TemporaryDirectory temporary;
  const fs::path path = temporary / "a" / "b";
  EXPECT_TRUE(Open(path)->owned());
  for (const fs::path& made : {path, path.parent_path()}) {
    struct stat info{};
    ASSERT_EQ(stat(made.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700U);
  }
}

TEST(CacheDirectory, WritesWholeFilesAndReadsThem) {
  const TemporaryDirectory temporary;
  const auto directory = Open(temporary.path());
  std::string reason;
  EXPECT_EQ(directory->Read("a.x"), std::nullopt);
  EXPECT_TRUE(directory->Write("a.x", std::array<std::string_view, 2>{"one ", "two"}, &reason));
  EXPECT_EQ(directory->Read("a.x"), "one two");
  EXPECT_EQ(directory->Read("a.x", false, 3), "one");
  EXPECT_TRUE(Write(*directory, "a.x", "new"));
  EXPECT_EQ(directory->Read("a.x"), "new");
  EXPECT_TRUE(Write(*directory, "empty.x", ""));
  EXPECT_EQ(directory->Read("empty.x"), "");
  EXPECT_EQ(test::Files(temporary.path(), "").size(), 2U) << "temporary files are left";
  EXPECT_TRUE(directory->Remove("a.x"));
  EXPECT_EQ(directory->Read("a.x"), std::nullopt);
}

TEST(CacheDirectory, OneThatOthersCanWriteIsRefused) {
  for (const mode_t mode : {0770, 0707, 0720}) {
    const TemporaryDirectory temporary;
    ASSERT_EQ(chmod(temporary.path().c_str(), mode), 0);
    EXPECT_NE(RefusalOf(temporary.path()).find("chmod go-w"), std::string::npos);
  }
}

TEST(CacheDirectory, OneThatCannotBeMadeIsRefused) {
  const TemporaryDirectory temporary;
  test::SetContent(temporary / "file", "");
  EXPECT_NE(RefusalOf(temporary / "file", true).find("Not a directory"), std::string::npos);
  EXPECT_NE(RefusalOf(temporary / "file" / "x", true).find("Not a directory"), std::string::npos);
  EXPECT_NE(RefusalOf(temporary / "absent").find("No such file"), std::string::npos);
}

TEST(CacheDirectory, AnotherUsersIsRefusedAndRootsIsOnlyRead) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  const TemporaryDirectory temporary;
  ASSERT_EQ(chmod(temporary.path().c_str(), 0755), 0);
  ASSERT_TRUE(Write(*Open(temporary.path()), "a.x", "root's"));
  ASSERT_EQ(seteuid(65534), 0);
  const auto directory = Open(temporary.path());
  const bool owned = directory->owned();
  const auto content = directory->Read("a.x", /*touch=*/true);
  const bool removed = directory->Remove("a.x");
  const bool written = Write(*directory, "b.x", "");
  ASSERT_EQ(seteuid(0), 0);
  EXPECT_FALSE(owned || removed || written);
  EXPECT_EQ(content, "root's");
  ASSERT_EQ(chown(temporary.path().c_str(), 65534, 65534), 0);
  EXPECT_NE(RefusalOf(temporary.path()).find("belongs to user 65534"), std::string::npos);
}

TEST(CacheDirectory, FilesThatCannotBeTrustedAreNotRead) {
  const TemporaryDirectory temporary;
  const auto directory = Open(temporary.path());
  test::SetContent(temporary / "open.x", "code");
  ASSERT_EQ(chmod((temporary / "open.x").c_str(), 0666), 0);
  test::SetContent(temporary / "real", "code");
  fs::create_symlink("real", temporary / "link.x");
  fs::create_directory(temporary / "folder.x");
  ASSERT_EQ(mkfifo((temporary / "fifo.x").c_str(), 0600), 0);
  for (const char* name : {"open.x", "link.x", "folder.x", "fifo.x"}) {
    EXPECT_EQ(directory->Read(name), std::nullopt) << name;
  }
}

TEST(CacheDirectory, ListsByUseAndShrinksFromTheOldest) {
  const TemporaryDirectory temporary;
  const auto directory = Open(temporary.path());
  for (int i = 0; i < 5; ++i) {
    const std::string name = std::to_string(i) + ".x";
    ASSERT_TRUE(Write(*directory, name, std::string(100, 'a')));
    SetAge(temporary / name, 100 - i);
  }
  ASSERT_TRUE(Write(*directory, "other.y", std::string(1000, 'a')));
  directory->Read("0.x", /*touch=*/true);
  std::vector<std::string> names;
  for (const CacheFile& file : directory->List(".x")) names.push_back(file.name);
  EXPECT_EQ(names, (std::vector<std::string>{"1.x", "2.x", "3.x", "4.x", "0.x"}));
  EXPECT_TRUE(directory->Shrink(".x", 250));
  names.clear();
  for (const CacheFile& file : directory->List("")) names.push_back(file.name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"0.x", "4.x", "lock", "other.y"}));
}

TEST(CacheDirectory, OneProcessShrinksAtATime) {
  const TemporaryDirectory temporary;
  const auto directory = Open(temporary.path());
  ASSERT_TRUE(Write(*directory, "a.x", "1"));
  const int lock = open((temporary / "lock").c_str(), O_CREAT | O_RDWR, 0600);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  EXPECT_FALSE(directory->Shrink(".x", 0));
  EXPECT_EQ(directory->Read("a.x"), "1");
  close(lock);
  EXPECT_TRUE(directory->Shrink(".x", 0));
  EXPECT_EQ(directory->Read("a.x"), std::nullopt);
}

TEST(CacheDirectory, LeftoversOfDeadWritersAreRemovedAndNoOthers) {
  const TemporaryDirectory temporary;
  const auto directory = Open(temporary.path());
  for (const char* name : {"tmp-dead", "tmp-young", "tmp-alive"}) {
    test::SetContent(temporary / name, "half");
  }
  SetAge(temporary / "tmp-dead", 3600);
  SetAge(temporary / "tmp-alive", 3600);
  const int alive = open((temporary / "tmp-alive").c_str(), O_RDWR);
  ASSERT_EQ(flock(alive, LOCK_EX), 0);
  EXPECT_TRUE(directory->List("").empty()) << "temporary files are listed";
  directory->RemoveLeftovers();
  close(alive);
  EXPECT_FALSE(fs::exists(temporary / "tmp-dead"));
  EXPECT_TRUE(fs::exists(temporary / "tmp-young"));
  EXPECT_TRUE(fs::exists(temporary / "tmp-alive"));
}

}  // namespace
}  // namespace tpjrt::exec
