// SHA-256 (FIPS 180-4): names programs and compiled programs, where two contents must never share a
// name and the name must mean the same in every process.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tpjrt {

using Digest = std::array<uint8_t, 32>;

class Sha256 {
 public:
  Sha256& Update(std::string_view bytes);
  // The digest of all bytes so far; the object is spent.
  Digest Finish();

  static Digest Of(std::string_view bytes) { return Sha256().Update(bytes).Finish(); }

 private:
  void Block(const uint8_t* block);

  std::array<uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> rest_{};
  uint64_t total_ = 0;
};

std::string_view BytesOf(const Digest& digest);
std::string ToHex(const Digest& digest);

// Hash for tables: a digest's bytes are already mixed.
struct DigestHash {
  size_t operator()(const Digest& digest) const;
};

}  // namespace tpjrt
