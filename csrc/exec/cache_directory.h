// A directory of small files that hold executable code, used by many processes at once.
//
// Trust: the directory must be closed to writes by group and others and be owned by this user, or
// by root (then it is only read); the same holds for each file. Checked on the opened directory and
// on opened files, which cannot be exchanged afterwards. Files appear by rename, so a reader sees
// all of a file or nothing. Failures are values: a cache never fails its caller. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tpjrt::exec {

struct CacheFile {
  std::string name;
  int64_t bytes = 0;
  int64_t used_ns = 0;  // since 1970: written or last read
};

class CacheDirectory {
 public:
  // nullptr and a reason when the directory cannot be had or cannot be trusted. `create` makes it,
  // and its missing parents, for this user alone.
  static std::unique_ptr<CacheDirectory> Open(const std::string& path, bool create,
                                              std::string* refusal);
  ~CacheDirectory();
  CacheDirectory(const CacheDirectory&) = delete;
  CacheDirectory& operator=(const CacheDirectory&) = delete;

  const std::string& path() const { return path_; }
  bool owned() const { return owned_; }

  // The content, at most the first `limit` bytes; nullopt when there is no such file, or none that
  // can be trusted. `touch` marks it as used now.
  std::optional<std::string> Read(const std::string& name, bool touch = false,
                                  size_t limit = SIZE_MAX) const;
  // Puts a file in place, whole, over one of the same name. False, with the system's reason, when
  // that fails.
  bool Write(const std::string& name, std::span<const std::string_view> pieces,
             std::string* reason) const;
  bool Remove(const std::string& name) const;
  // The files with this ending, least recently used first.
  std::vector<CacheFile> List(std::string_view suffix) const;
  // Removes the least recently used files with this ending until at most `bytes` remain. One
  // process at a time: false when another one is at it.
  bool Shrink(std::string_view suffix, int64_t bytes) const;
  // Removes what writers that died left behind.
  void RemoveLeftovers() const;

 private:
  CacheDirectory(std::string path, int fd, bool owned)
      : path_(std::move(path)), fd_(fd), owned_(owned) {}
  std::string path_;
  int fd_;
  bool owned_;
};

}  // namespace tpjrt::exec
