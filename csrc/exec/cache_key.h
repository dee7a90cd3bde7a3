// What a compiled program depends on, by name: two processes may share one only when every part is
// the same.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.h"
#include "pjrt/client.h"

namespace tpjrt::exec {

struct KeyPart {
  std::string name;
  std::string value;  // text that a person can compare
  bool operator==(const KeyPart&) const = default;
};
using KeyParts = std::vector<KeyPart>;

// Everything but the program: the compiler (its file, API version, platform, options and the
// variables it reads, given as `extra`), the devices, this machine's CPU. `plugin_hash` is
// client.plugin().file_hash(), or the same remembered from an earlier process.
KeyParts CompileEnvironment(const pjrt::Client& client, uint64_t plugin_hash,
                            const KeyParts& extra);

// Vendor, family, model and features of this machine's CPU, as the kernel reports them.
std::string CpuDescription();

// The name of a compiled program, from its text's digest and its environment.
Digest ProgramKey(const Digest& text, const KeyParts& environment);

}  // namespace tpjrt::exec
