// The key of a program: a sequence of words that says everything that shapes it.
//
// KeyBuilder collects the words without allocating in the common case; KeyMap finds what was stored
// for them. Keys are compared word for word, so a hash collision is never a wrong program. KeyMap
// is thread-safe; stored values are never removed while the map lives, so references stay valid.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"

namespace tpjrt::ir {

class KeyBuilder {
 public:
  void Add(uint64_t word) {
    if (size_ < kInline) [[likely]] {
      inline_[size_++] = word;
      return;
    }
    if (overflow_.empty()) overflow_.assign(inline_.begin(), inline_.end());
    overflow_.push_back(word);
    ++size_;
  }
  void AddSigned(int64_t value) { Add(static_cast<uint64_t>(value)); }
  void AddDouble(double value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    Add(bits);
  }
  void AddList(std::span<const int64_t> values) {
    Add(values.size());
    for (int64_t value : values) AddSigned(value);
  }
  void AddText(std::string_view text) {
    Add(text.size());
    for (size_t i = 0; i < text.size(); i += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, text.data() + i, std::min(sizeof(word), text.size() - i));
      Add(word);
    }
  }
  std::span<const uint64_t> words() const {
    return overflow_.empty() ? std::span<const uint64_t>(inline_.data(), size_)
                             : std::span<const uint64_t>(overflow_);
  }

 private:
  static constexpr size_t kInline = 64;
  std::array<uint64_t, kInline> inline_;  // uninitialised past size_
  size_t size_ = 0;
  std::vector<uint64_t> overflow_;
};

template <typename Value>
class KeyMap {
 public:
  // nullptr when absent.
  Value* Find(std::span<const uint64_t> words) const {
    std::shared_lock lock(mutex_);
    const auto found = map_.find(words);
    return found == map_.end() ? nullptr : found->second.get();
  }
  // Keeps the first value stored for a key and returns it.
  Value* Insert(std::span<const uint64_t> words, std::unique_ptr<Value> value) {
    std::unique_lock lock(mutex_);
    const auto [at, is_new] = map_.try_emplace(std::vector<uint64_t>(words.begin(), words.end()));
    if (is_new) at->second = std::move(value);
    return at->second.get();
  }
  size_t size() const {
    std::shared_lock lock(mutex_);
    return map_.size();
  }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::span<const uint64_t> words) const { return HashWords(words); }
    size_t operator()(const std::vector<uint64_t>& words) const { return HashWords(words); }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(std::span<const uint64_t> a, std::span<const uint64_t> b) const {
      return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }
  };
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::vector<uint64_t>, std::unique_ptr<Value>, Hash, Equal> map_;
};

}  // namespace tpjrt::ir
