#include "exec/cache_key.h"

#include <algorithm>
#include <fstream>
#include <iomanip>
#include <map>
#include <sstream>

#include "base/error.h"

namespace tpjrt::exec {
namespace {

template <typename Number>
std::string Hex(Number number) {
  std::ostringstream out;
  out << std::hex << std::setfill('0') << std::setw(2 * sizeof(number)) << uint64_t{number};
  return out.str();
}

std::string HexBytes(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += Hex(static_cast<uint8_t>(byte));
  return text;
}

std::string SortedWords(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  std::sort(words.begin(), words.end());
  std::string sorted;
  for (const std::string& word : words) sorted += (sorted.empty() ? "" : " ") + word;
  return sorted;
}

// "2 x TFRT_CPU": kinds in the devices' order, runs counted.
std::string Devices(const pjrt::Client& client) {
  std::string text;
  for (int i = 0; i < client.num_devices();) {
    const std::string& kind = client.device_info(i).kind;
    int run = 0;
    while (i < client.num_devices() && client.device_info(i).kind == kind) ++i, ++run;
    text += StrCat(text.empty() ? "" : ", ", run, " x ", kind);
  }
  return text;
}

}  // namespace

std::string CpuDescription() {
  // Of the first processor: "key<tab>: value" lines up to an empty one.
  std::ifstream file("/proc/cpuinfo");
  std::map<std::string, std::string> fields;
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const size_t colon = line.find(':');
    if (colon == line.npos) continue;
    const size_t end = line.find_last_not_of("\t ", colon - 1);
    fields[line.substr(0, end + 1)] = line.substr(std::min(colon + 2, line.size()));
  }
  return StrCat(fields["vendor_id"], " family ", fields["cpu family"], " model ", fields["model"],
                ": ", SortedWords(fields["flags"]));
}

KeyParts CompileEnvironment(const pjrt::Client& client, uint64_t plugin_hash,
                            const KeyParts& extra) {
  const pjrt::Plugin& plugin = client.plugin();
  KeyParts parts = {
      {"plugin file", Hex(plugin_hash)},
      {"PJRT API", StrCat(plugin.api_major(), ".", plugin.api_minor())},
      {"platform", client.platform_name()},
      {"platform version", client.platform_version()},
      {"devices", Devices(client)},
      {"compile options", HexBytes(client.compile_options())},
      {"CPU", CpuDescription()},
  };
  parts.insert(parts.end(), extra.begin(), extra.end());
  return parts;
}

Digest ProgramKey(const Digest& text, const KeyParts& environment) {
  Sha256 hash;
  hash.Update("torch_pjrt program 1").Update(BytesOf(text));
  for (const KeyPart& part : environment) {
    // Lengths keep ("ab", "c") and ("a", "bc") apart.
    hash.Update(StrCat(part.name.size(), ' ', part.value.size(), ' ', part.name, part.value));
  }
  return hash.Finish();
}

}  // namespace tpjrt::exec
