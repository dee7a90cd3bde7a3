// The file format of a cached program: a head that says which program this is and what it was
// compiled with and for, then the plugin's own bytes. Little-endian.
//
//   magic[8] version:u32 head_size:u32 head_hash:u64 blob_size:u64 blob_hash:u64 key[32] text[32]
//   created_ns:i64 compile_ns:i64 run:str parts:u32 (name:str value:str)... text_size:u64 text:str
//
// `str` is a u32 length and bytes. Both hashes are HashBytes; head_hash is taken with its own field
// zero. Reading accepts nothing but a whole file with the right hashes: anything else is no entry.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/sha256.h"
#include "exec/cache_key.h"

namespace tpjrt::exec {

struct EntryHead {
  Digest key{};
  Digest text_digest{};
  int64_t created_ns = 0;  // since 1970
  int64_t compile_ns = 0;  // what compiling took
  std::string run;         // the process that made it
  KeyParts environment;
  uint64_t text_size = 0;
  std::string text;  // the program, cut after kMaxKeptText bytes
};

// Longer programs keep their beginning: the text serves people (`why`), not the lookup.
inline constexpr size_t kMaxKeptText = size_t{256} << 10;
inline constexpr size_t kMaxHeadSize = kMaxKeptText + (size_t{64} << 10);

// The bytes that precede `blob` in its file.
std::string EncodeHead(const EntryHead& head, std::string_view blob);

// The head at the beginning of `file`, which may hold less than the whole file; nullopt when it is
// not whole.
std::optional<EntryHead> DecodeHead(std::string_view file);

// The blob of an entry file with this key, inside `file`; nullopt for anything else.
std::optional<std::string_view> DecodeBlob(std::string_view file, const Digest& key);

}  // namespace tpjrt::exec
