// Rank-0 device values by their bits: numbers recur (learning rates, eps, offsets), and an upload
// costs as much as a small program. Bounded; the oldest half is dropped when full. Thread-safe.
#pragma once

#include <array>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "base/dtype.h"
#include "base/hash.h"
#include "exec/device_buffer.h"

namespace tpjrt::exec {

// A number as the bytes of its dtype, zero padded.
struct ScalarBits {
  DType dtype = DType::kF32;
  std::array<uint64_t, 2> words{};

  template <typename T>
  static ScalarBits Of(DType dtype, T value) {
    static_assert(sizeof(T) <= sizeof(words));
    ScalarBits bits;
    bits.dtype = dtype;
    std::memcpy(bits.words.data(), &value, sizeof(T));
    return bits;
  }
  bool operator==(const ScalarBits&) const = default;
};

class ScalarCache {
 public:
  BufferRef Get(const ScalarBits& bits, int device);
  void Clear();

 private:
  struct Key {
    ScalarBits bits;
    int device;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const {
      uint64_t state = MixHash(key.bits.words[0], key.bits.words[1]);
      return MixHash(
          state, (static_cast<uint64_t>(key.device) << 8) | static_cast<uint64_t>(key.bits.dtype));
    }
  };
  using Map = std::unordered_map<Key, BufferRef, Hash>;

  static constexpr size_t kCapacity = 8192;
  std::mutex mutex_;
  Map young_, old_;  // two generations: a hit in old_ moves to young_
};

}  // namespace tpjrt::exec
