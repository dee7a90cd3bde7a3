#include "pjrt/compile_options.h"

namespace tpjrt::pjrt {
namespace {

// Field numbers of xla/pjrt/proto/compile_options.proto.
constexpr int kExecutableBuildOptions = 3;
constexpr int kNumReplicas = 4;
constexpr int kNumPartitions = 5;
constexpr int kCompilePortableExecutable = 4;
constexpr int kEnvOptionOverrides = 7;  // map<string, OptionOverrideProto>
constexpr int kMapKey = 1;
constexpr int kMapValue = 2;
constexpr int kOverrideBool = 2;

// All numbers here fit one byte of a varint, as do all lengths.
std::string Number(int field, char value) { return {static_cast<char>(field << 3), value}; }

std::string Bytes(int field, std::string_view content) {
  std::string encoded = {static_cast<char>(field << 3 | 2), static_cast<char>(content.size())};
  return encoded.append(content);
}

std::string OverrideBool(std::string_view name, bool value) {
  const std::string choice = Number(kOverrideBool, value ? 1 : 0);
  return Bytes(kEnvOptionOverrides, Bytes(kMapKey, name) + Bytes(kMapValue, choice));
}

}  // namespace

// Empty options would abort the process inside XLA.
std::string EncodeCompileOptions(std::string_view platform_name) {
  std::string options =
      Bytes(kExecutableBuildOptions, Number(kNumReplicas, 1) + Number(kNumPartitions, 1)) +
      Number(kCompilePortableExecutable, 1);
  if (platform_name == "cpu") options += OverrideBool("xla_cpu_enable_fast_min_max", false);
  return options;
}

}  // namespace tpjrt::pjrt
