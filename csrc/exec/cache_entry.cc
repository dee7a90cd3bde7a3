#include "exec/cache_entry.h"

#include <bit>
#include <cstring>

#include "base/hash.h"

namespace tpjrt::exec {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is written as it lies");

constexpr char kMagic[8] = {'T', 'P', 'J', 'R', 'T', 'E', 'X', 'E'};
constexpr uint32_t kVersion = 1;

struct Fixed {
  char magic[8];
  uint32_t version;
  uint32_t head_size;  // of the fixed part and what follows it, up to the blob
  uint64_t head_hash;
  uint64_t blob_size;
  uint64_t blob_hash;
  Digest key;
  Digest text;
};
static_assert(sizeof(Fixed) == 104, "no padding");

template <typename Number>
void Put(std::string& out, Number number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

void Put(std::string& out, const std::string& text) {
  Put(out, static_cast<uint32_t>(text.size()));
  out += text;
}

// Reads what Put wrote; `ok` turns false at the first read past the end.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <typename Number>
  Number Get() {
    Number number{};
    const std::string_view bytes = Take(sizeof(number));
    if (ok_) std::memcpy(&number, bytes.data(), sizeof(number));
    return number;
  }
  std::string GetText() { return std::string(Take(Get<uint32_t>())); }
  bool ok() const { return ok_; }

 private:
  std::string_view Take(size_t size) {
    ok_ = ok_ && size <= bytes_.size();
    if (!ok_) return {};
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }
  std::string_view bytes_;
  bool ok_ = true;
};

uint64_t HeadHash(Fixed fixed, std::string_view rest) {
  fixed.head_hash = 0;
  std::string bytes(reinterpret_cast<const char*>(&fixed), sizeof(fixed));
  return HashBytes(bytes.append(rest));
}

// The fixed part of a file that begins with a whole, intact head.
std::optional<Fixed> CheckedFixed(std::string_view file) {
  Fixed fixed;
  if (file.size() < sizeof(fixed)) return std::nullopt;
  std::memcpy(&fixed, file.data(), sizeof(fixed));
  const bool ours = std::memcmp(fixed.magic, kMagic, sizeof(kMagic)) == 0 &&
                    fixed.version == kVersion && fixed.head_size >= sizeof(fixed) &&
                    fixed.head_size <= file.size();
  if (!ours) return std::nullopt;
  const std::string_view rest = file.substr(sizeof(fixed), fixed.head_size - sizeof(fixed));
  if (HeadHash(fixed, rest) != fixed.head_hash) return std::nullopt;
  return fixed;
}

}  // namespace

std::string EncodeHead(const EntryHead& head, std::string_view blob) {
  std::string rest;
  Put(rest, head.created_ns);
  Put(rest, head.compile_ns);
  Put(rest, head.run);
  Put(rest, static_cast<uint32_t>(head.environment.size()));
  for (const KeyPart& part : head.environment) {
    Put(rest, part.name);
    Put(rest, part.value);
  }
  Put(rest, head.text_size);
  Put(rest, head.text);
  Fixed fixed{};
  std::memcpy(fixed.magic, kMagic, sizeof(kMagic));
  fixed.version = kVersion;
  fixed.head_size = static_cast<uint32_t>(sizeof(fixed) + rest.size());
  fixed.blob_size = blob.size();
  fixed.blob_hash = HashBytes(blob);
  fixed.key = head.key;
  fixed.text = head.text_digest;
  fixed.head_hash = HeadHash(fixed, rest);
  return std::string(reinterpret_cast<const char*>(&fixed), sizeof(fixed)) + rest;
}

std::optional<EntryHead> DecodeHead(std::string_view file) {
  const std::optional<Fixed> fixed = CheckedFixed(file);
  if (!fixed) return std::nullopt;
  Reader in(file.substr(sizeof(Fixed), fixed->head_size - sizeof(Fixed)));
  EntryHead head;
  head.key = fixed->key;
  head.text_digest = fixed->text;
  head.created_ns = in.Get<int64_t>();
  head.compile_ns = in.Get<int64_t>();
  head.run = in.GetText();
  const auto parts = in.Get<uint32_t>();
  for (uint32_t i = 0; i < parts && in.ok(); ++i) {
    std::string name = in.GetText();
    head.environment.push_back({std::move(name), in.GetText()});
  }
  head.text_size = in.Get<uint64_t>();
  head.text = in.GetText();
  if (!in.ok()) return std::nullopt;
  return head;
}

std::optional<std::string_view> DecodeBlob(std::string_view file, const Digest& key) {
  const std::optional<Fixed> fixed = CheckedFixed(file);
  if (!fixed || fixed->key != key) return std::nullopt;
  const std::string_view blob = file.substr(fixed->head_size);
  if (blob.size() != fixed->blob_size || HashBytes(blob) != fixed->blob_hash) return std::nullopt;
  return blob;
}

}  // namespace tpjrt::exec
