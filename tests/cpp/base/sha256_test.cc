// Against the examples of FIPS 180-4 and of NIST's test vectors, and across block borders.
#include "base/sha256.h"

#include <gtest/gtest.h>

namespace tpjrt {
namespace {

std::string HexOf(std::string_view bytes) { return ToHex(Sha256::Of(bytes)); }

TEST(Sha256, KnownDigests) {
  EXPECT_EQ(HexOf(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(HexOf("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(HexOf("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(HexOf(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesGiveTheDigestOfTheWhole) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 7);
  for (size_t size = 0; size < text.size(); ++size) {
    const std::string_view whole = std::string_view(text).substr(0, size);
    Sha256 pieces;
    pieces.Update(whole.substr(0, size / 3)).Update("").Update(whole.substr(size / 3));
    EXPECT_EQ(pieces.Finish(), Sha256::Of(whole)) << size;
  }
}

}  // namespace
}  // namespace tpjrt
