// Hashing of word sequences and bytes. Not cryptographic. HashWords is for tables of this process;
// HashBytes is part of file formats: the same in every process and every build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace tpjrt {

inline uint64_t MixHash(uint64_t state, uint64_t word) {
  const auto product =
      static_cast<unsigned __int128>(state ^ word ^ 0x9E3779B97F4A7C15ULL) * 0xD6E8FEB86659FD93ULL;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

inline uint64_t HashWords(std::span<const uint64_t> words) {
  uint64_t state = words.size();
  for (uint64_t word : words) state = MixHash(state, word);
  return state;
}

inline uint64_t HashBytes(std::string_view bytes) {
  uint64_t state = bytes.size();
  while (!bytes.empty()) {
    uint64_t word = 0;
    const size_t take = bytes.size() < sizeof(word) ? bytes.size() : sizeof(word);
    std::memcpy(&word, bytes.data(), take);
    state = MixHash(state, word);
    bytes.remove_prefix(take);
  }
  return state;
}

}  // namespace tpjrt
