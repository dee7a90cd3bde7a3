// Compiled programs in a directory, shared by processes: the one of this user, which is written and
// bounded, and one that is only read.
//
// Nothing here fails a caller: what cannot be read is a miss, what cannot be written is not stored,
// and each kind of trouble is told once through `warn`. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "exec/cache_directory.h"
#include "exec/cache_entry.h"
#include "pjrt/client.h"

namespace tpjrt::exec {

inline constexpr std::string_view kEntrySuffix = ".program";

struct DiskCacheConfig {
  std::string directory;            // empty: none
  std::string read_only_directory;  // empty: none
  int64_t size_limit = int64_t{4} << 30;
  KeyParts environment;  // what the compiler depends on and the client does not know
  std::function<void(const std::string&)> warn = [](const std::string&) {};
};

// A program that was looked for and not found.
struct CacheMiss {
  Digest key{};
  std::string text;  // cut after kMaxKeptText bytes
};

class DiskCache {
 public:
  // Opens the directories; one that cannot be used is left out, with a warning. The programs are
  // those of `client`, which must outlive the cache.
  DiskCache(DiskCacheConfig config, const pjrt::Client& client);

  bool usable() const { return own_ != nullptr || shared_ != nullptr; }

  // nullptr: not there, or not to be trusted, or refused by the plugin.
  std::unique_ptr<pjrt::Executable> Load(const std::string& text, const Digest& text_digest,
                                         int num_parameters);
  // Serializes and writes a program that Load did not find. A plugin that cannot serialize it is no
  // trouble: the program is not stored.
  void Store(const pjrt::Executable& executable, const std::string& text, const Digest& text_digest,
             int64_t compile_ns);

  int64_t stored() const { return stored_.load(); }
  int64_t rejected() const { return rejected_.load(); }  // entries that were there and no good
  const std::string& run() const { return run_; }

  // The latest misses, oldest first, and what all programs here are compiled with.
  std::vector<CacheMiss> Misses() const;
  const KeyParts& Environment();

 private:
  void Warn(std::atomic<bool>& told, const std::string& message);
  uint64_t PluginHash();
  std::unique_ptr<pjrt::Executable> LoadFrom(const CacheDirectory* directory, const Digest& key,
                                             int num_parameters);
  void StoreBlob(const std::string& blob, const std::string& text, const Digest& text_digest,
                 int64_t compile_ns);
  void WarnUnreadable(const char* what);
  void NoteMiss(const Digest& key, const std::string& text);
  void KeepBounded(int64_t added);

  const DiskCacheConfig config_;
  const pjrt::Client& client_;
  const std::string run_;
  std::unique_ptr<CacheDirectory> own_;
  std::unique_ptr<CacheDirectory> shared_;
  std::once_flag environment_once_;
  KeyParts environment_;
  std::atomic<int64_t> stored_{0}, rejected_{0};
  std::atomic<bool> full_{false};  // a write failed: no more are tried
  std::atomic<bool> told_read_{false}, told_write_{false};

  mutable std::mutex mutex_;
  std::deque<CacheMiss> misses_;
  int64_t known_bytes_ = -1;  // of the own directory when it was last looked at; -1: never
  int64_t added_since_ = 0;   // by this process
};

}  // namespace tpjrt::exec
