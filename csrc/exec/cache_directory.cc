#include "exec/cache_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "base/error.h"

namespace tpjrt::exec {
namespace {

constexpr std::string_view kTemporary = "tmp-";
constexpr char kLock[] = "lock";
// A writer locks its file right after making it; only older unlocked ones are a dead writer's.
constexpr int64_t kLeftoverAgeNs = int64_t{60} * 1'000'000'000;

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  explicit operator bool() const { return fd_ >= 0; }
  int fd() const { return fd_; }

 private:
  int fd_;
};

std::string Reason() { return std::strerror(errno); }

int64_t Nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

int64_t Now() {
  return std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

bool Trusted(const struct stat& info) {
  const bool closed = (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  return closed && (info.st_uid == geteuid() || info.st_uid == 0);
}

std::string Refusal(const struct stat& info) {
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return "other users may write to it (run `chmod go-w` on it)";
  }
  return StrCat("it belongs to user ", info.st_uid, ", not to this user (", geteuid(),
                ") or to root");
}

bool MakeDirectories(const std::filesystem::path& path) {
  if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return true;
  if (errno != ENOENT || !path.has_parent_path() || path.parent_path() == path) return false;
  return MakeDirectories(path.parent_path()) && (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST);
}

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

std::optional<std::string> ReadAll(int fd, size_t size) {
  std::string content(size, '\0');
  size_t got = 0;
  while (got < size) {
    const ssize_t count = read(fd, content.data() + got, size - got);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) break;
    got += static_cast<size_t>(count);
  }
  content.resize(got);
  return content;
}

std::string TemporaryName() {
  static std::atomic<uint64_t> next{0};
  return StrCat(kTemporary, getpid(), '-', Now(), '-', next.fetch_add(1));
}

// Calls visit(name, stat) for every regular file.
template <typename Visit>
void ForEachFile(int directory, Visit&& visit) {
  // A descriptor of its own: readdir's position belongs to the open file.
  DIR* stream = fdopendir(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (stream == nullptr) return;
  while (const dirent* entry = readdir(stream)) {
    struct stat info{};
    if (fstatat(directory, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISREG(info.st_mode)) visit(std::string(entry->d_name), info);
  }
  closedir(stream);
}

}  // namespace

std::unique_ptr<CacheDirectory> CacheDirectory::Open(const std::string& path, bool create,
                                                     std::string* refusal) {
  if (create && !MakeDirectories(path)) {
    *refusal = "it cannot be made: " + Reason();
    return nullptr;
  }
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct stat info{};
  if (fd < 0 || fstat(fd, &info) != 0) {
    *refusal = "it cannot be opened: " + Reason();
    if (fd >= 0) close(fd);
    return nullptr;
  }
  if (!Trusted(info)) {
    *refusal = Refusal(info);
    close(fd);
    return nullptr;
  }
  return std::unique_ptr<CacheDirectory>(new CacheDirectory(path, fd, info.st_uid == geteuid()));
}

CacheDirectory::~CacheDirectory() { close(fd_); }

std::optional<std::string> CacheDirectory::Read(const std::string& name, bool touch,
                                                size_t limit) const {
  const File file(openat(fd_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info{};
  if (!file || fstat(file.fd(), &info) != 0) return std::nullopt;
  if (!S_ISREG(info.st_mode) || !Trusted(info)) return std::nullopt;
  if (touch && owned_) futimens(file.fd(), nullptr);
  return ReadAll(file.fd(), std::min(static_cast<size_t>(info.st_size), limit));
}

bool CacheDirectory::Write(const std::string& name, std::span<const std::string_view> pieces,
                           std::string* reason) const {
  const std::string temporary = TemporaryName();
  // Readable by all, as far as the directory is: a filled cache can be shared.
  const File file(
      openat(fd_, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  bool ok = static_cast<bool>(file);
  if (ok) flock(file.fd(), LOCK_EX | LOCK_NB);  // says that a writer lives; see RemoveLeftovers
  for (const std::string_view piece : pieces) ok = ok && WriteAll(file.fd(), piece);
  ok = ok && renameat(fd_, temporary.c_str(), fd_, name.c_str()) == 0;
  if (ok) return true;
  *reason = Reason();
  if (file) unlinkat(fd_, temporary.c_str(), 0);
  return false;
}

bool CacheDirectory::Remove(const std::string& name) const {
  return owned_ && unlinkat(fd_, name.c_str(), 0) == 0;
}

std::vector<CacheFile> CacheDirectory::List(std::string_view suffix) const {
  std::vector<CacheFile> files;
  ForEachFile(fd_, [&](std::string name, const struct stat& info) {
    if (!name.ends_with(suffix) || name.starts_with(kTemporary)) return;
    files.push_back({std::move(name), int64_t{info.st_size}, Nanoseconds(info.st_mtim)});
  });
  std::sort(files.begin(), files.end(), [](const CacheFile& a, const CacheFile& b) {
    return a.used_ns != b.used_ns ? a.used_ns < b.used_ns : a.name < b.name;
  });
  return files;
}

bool CacheDirectory::Shrink(std::string_view suffix, int64_t bytes) const {
  const File lock(openat(fd_, kLock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lock || flock(lock.fd(), LOCK_EX | LOCK_NB) != 0) return false;
  const std::vector<CacheFile> files = List(suffix);
  int64_t total = 0;
  for (const CacheFile& file : files) total += file.bytes;
  for (const CacheFile& file : files) {
    if (total <= bytes) break;
    if (Remove(file.name)) total -= file.bytes;
  }
  return true;
}

void CacheDirectory::RemoveLeftovers() const {
  if (!owned_) return;
  std::vector<std::string> old;
  ForEachFile(fd_, [&](std::string name, const struct stat& info) {
    const bool aged = Nanoseconds(info.st_mtim) + kLeftoverAgeNs < Now();
    if (name.starts_with(kTemporary) && aged) old.push_back(std::move(name));
  });
  for (const std::string& name : old) {
    const File file(openat(fd_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    // A living writer holds the lock; a killed one's is gone with it.
    if (file && flock(file.fd(), LOCK_EX | LOCK_NB) == 0) Remove(name);
  }
}

}  // namespace tpjrt::exec
