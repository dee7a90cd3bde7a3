#include "exec/disk_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "pjrt/fork.h"

namespace tpjrt::exec {
namespace {

constexpr size_t kKeptMisses = 64;
// Shrinking goes this far below the limit, so that it is rare.
constexpr double kShrinkTo = 0.9;
// Other processes write too: the directory is looked at again after this share of the limit.
constexpr int64_t kLookAgainShare = 16;

int64_t Now() {
  return std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

std::string FileName(const Digest& key) { return ToHex(key).append(kEntrySuffix); }

// A file's identity without reading it: its content cannot change under the same one by accident.
std::string IdentityOf(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return "";
  const auto ns = [](const timespec& t) { return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec; };
  return StrCat(path, ' ', info.st_dev, ' ', info.st_ino, ' ', info.st_size, ' ', ns(info.st_mtim),
                ' ', ns(info.st_ctim));
}

std::unique_ptr<CacheDirectory> OpenOrWarn(const std::string& path, bool create,
                                           const DiskCacheConfig& config) {
  if (path.empty()) return nullptr;
  std::string refusal;
  auto directory = CacheDirectory::Open(path, create, &refusal);
  if (directory == nullptr) {
    config.warn(StrCat("the compile cache directory \"", path, "\" is not used: ", refusal,
                       ". Programs are compiled without it. Set TORCH_PJRT_CACHE_DIR to another "
                       "directory, or to \"off\"."));
  }
  return directory;
}

}  // namespace

DiskCache::DiskCache(DiskCacheConfig config, const pjrt::Client& client)
    : config_(std::move(config)),
      client_(client),
      run_(StrCat(Now(), '-', getpid())),
      own_(OpenOrWarn(config_.directory, true, config_)),
      shared_(OpenOrWarn(config_.read_only_directory, false, config_)) {}

void DiskCache::Warn(std::atomic<bool>& told, const std::string& message) {
  if (!told.exchange(true)) config_.warn(message);
}

// Reading a plugin takes a tenth of a second: its hash is kept beside the entries.
uint64_t DiskCache::PluginHash() {
  const pjrt::Plugin& plugin = client_.plugin();
  const std::string identity = IdentityOf(plugin.path());
  if (own_ == nullptr || identity.empty()) return plugin.file_hash();
  const std::string name = StrCat("plugin-", ToHex(Sha256::Of(identity)), ".hash");
  uint64_t hash = 0;
  if (const auto kept = own_->Read(name); kept && kept->size() == 20) {
    const auto end = kept->data() + kept->size();
    if (std::from_chars(kept->data(), end, hash).ptr == end) return hash;
  }
  hash = plugin.file_hash();
  std::string digits = std::to_string(hash);
  digits.insert(0, 20 - digits.size(), '0');
  std::string reason;
  own_->Write(name, std::array{std::string_view(digits)}, &reason);
  return hash;
}

const KeyParts& DiskCache::Environment() {
  std::call_once(environment_once_, [&] {
    environment_ = CompileEnvironment(client_, PluginHash(), config_.environment);
  });
  return environment_;
}

std::unique_ptr<pjrt::Executable> DiskCache::LoadFrom(const CacheDirectory* directory,
                                                      const Digest& key, int num_parameters) {
  if (directory == nullptr) return nullptr;
  const std::string name = FileName(key);
  const std::optional<std::string> file = directory->Read(name, /*touch=*/true);
  if (!file) return nullptr;
  if (const std::optional<std::string_view> blob = DecodeBlob(*file, key)) {
    try {
      return client_.Deserialize(*blob, num_parameters);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kResourceExhausted) return nullptr;
    }
  }
  // Damaged, or refused by the plugin: as good as damaged.
  ++rejected_;
  directory->Remove(name);
  return nullptr;
}

std::unique_ptr<pjrt::Executable> DiskCache::Load(const std::string& text,
                                                  const Digest& text_digest, int num_parameters) {
  pjrt::RequireNotForked("loading a program");
  try {
    const Digest key = ProgramKey(text_digest, Environment());
    for (const CacheDirectory* directory : {own_.get(), shared_.get()}) {
      auto executable = LoadFrom(directory, key, num_parameters);
      if (executable != nullptr) return executable;
    }
    NoteMiss(key, text);
  } catch (const std::exception& error) {  // the plugin's file is gone, memory is short
    WarnUnreadable(error.what());
  }
  return nullptr;
}

void DiskCache::WarnUnreadable(const char* what) {
  Warn(told_read_,
       StrCat("the compile cache cannot be read (", what, "): programs are compiled without it."));
}

void DiskCache::Store(const pjrt::Executable& executable, const std::string& text,
                      const Digest& text_digest, int64_t compile_ns) {
  if (own_ == nullptr || !own_->owned() || full_) return;
  try {
    StoreBlob(executable.Serialize(), text, text_digest, compile_ns);
  } catch (const std::exception&) {
    // The plugin cannot serialize it, or nobody has the memory: not stored.
  }
}

void DiskCache::StoreBlob(const std::string& blob, const std::string& text,
                          const Digest& text_digest, int64_t compile_ns) {
  EntryHead head;
  head.environment = Environment();
  head.key = ProgramKey(text_digest, head.environment);
  head.text_digest = text_digest;
  head.created_ns = Now();
  head.compile_ns = compile_ns;
  head.run = run_;
  head.text_size = text.size();
  head.text = text.substr(0, kMaxKeptText);
  const std::string encoded = EncodeHead(head, blob);
  const auto bytes = static_cast<int64_t>(encoded.size() + blob.size());
  if (bytes > config_.size_limit) return;
  std::string reason;
  if (!own_->Write(FileName(head.key), std::array<std::string_view, 2>{encoded, blob}, &reason)) {
    full_ = true;
    Warn(told_write_,
         StrCat("the compile cache directory \"", own_->path(), "\" cannot be written (", reason,
                "): programs that are compiled from now on are not kept."));
    return;
  }
  ++stored_;
  KeepBounded(bytes);
}

void DiskCache::KeepBounded(int64_t added) {
  const std::lock_guard lock(mutex_);
  added_since_ += added;
  const bool first = known_bytes_ < 0;
  const bool near = known_bytes_ + added_since_ > config_.size_limit;
  if (!first && !near && added_since_ * kLookAgainShare < config_.size_limit) return;
  if (first) own_->RemoveLeftovers();
  known_bytes_ = 0;
  added_since_ = 0;
  for (const CacheFile& file : own_->List(kEntrySuffix)) known_bytes_ += file.bytes;
  if (known_bytes_ <= config_.size_limit) return;
  const auto target = static_cast<int64_t>(kShrinkTo * static_cast<double>(config_.size_limit));
  if (own_->Shrink(kEntrySuffix, target)) known_bytes_ = target;
}

void DiskCache::NoteMiss(const Digest& key, const std::string& text) {
  const std::lock_guard lock(mutex_);
  misses_.push_back({key, text.substr(0, kMaxKeptText)});
  if (misses_.size() > kKeptMisses) misses_.pop_front();
}

std::vector<CacheMiss> DiskCache::Misses() const {
  const std::lock_guard lock(mutex_);
  return {misses_.begin(), misses_.end()};
}

}  // namespace tpjrt::exec
