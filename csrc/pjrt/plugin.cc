#include "pjrt/plugin.h"

#include <dlfcn.h>

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>

#include "pjrt/call.h"
#include "pjrt/shared_library.h"

namespace tpjrt::pjrt {
namespace {

// 0.57 rearranged the table; everything the core calls exists since.
constexpr int kMinimumMinor = 57;
constexpr size_t kMinimumTable =
    offsetof(PJRT_Api, PJRT_Executable_OutputDimensions) + sizeof(void*);

std::string DlError() {
  const char* text = dlerror();
  return text == nullptr ? "unknown error" : text;
}

void CheckVersion(const std::string& path, const PJRT_Api* api) {
  // Before 0.57 the table lay differently: only the version's place can be trusted.
  const PJRT_Api_Version& version = api->pjrt_api_version;
  const bool old = version.major_version == PJRT_API_MAJOR && version.minor_version < kMinimumMinor;
  Require(version.major_version == PJRT_API_MAJOR && !old && api->struct_size >= kMinimumTable,
          "PJRT plugin \"", path, "\": its PJRT API ", version.major_version, ".",
          version.minor_version, " (table of ", api->struct_size, " bytes) cannot be used; ",
          PJRT_API_MAJOR, ".", kMinimumMinor, " or later with the same major version is needed. ",
          old ? "Use a newer plugin." : "Use a plugin of that version.");
}

const PJRT_Api* OpenApi(const std::string& path) {
  CheckSharedLibrary(path);
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  Require(library != nullptr, "PJRT plugin \"", path, "\": ", DlError());
  auto get = reinterpret_cast<const PJRT_Api* (*)()>(dlsym(library, "GetPjrtApi"));
  Require(get != nullptr, "PJRT plugin \"", path,
          "\": not a PJRT plugin (it has no symbol GetPjrtApi). Give the path of a PJRT plugin.");
  const PJRT_Api* api = get();
  Require(api != nullptr, "PJRT plugin \"", path, "\": GetPjrtApi returned no table");
  CheckVersion(path, api);
  auto args = TPJRT_ARGS(PJRT_Plugin_Initialize);
  try {
    TPJRT_CALL(api, PJRT_Plugin_Initialize, args);
  } catch (const Error& error) {
    throw Error(error.code(), StrCat("PJRT plugin \"", path, "\": ", error.what()));
  }
  return api;
}

}  // namespace

Plugin::Plugin(std::string path, const PJRT_Api* api) : path_(std::move(path)), api_(api) {}

const Plugin& Plugin::Load(const std::string& path) {
  // Never destroyed: plugins run threads until the process ends.
  static auto* mutex = new std::mutex;
  static auto* loaded = new std::map<std::string, std::unique_ptr<Plugin>>;
  std::error_code error;
  const std::filesystem::path canonical = std::filesystem::canonical(path, error);
  const std::string key = error ? path : canonical.string();
  std::lock_guard lock(*mutex);
  auto& entry = (*loaded)[key];
  if (entry == nullptr) entry.reset(new Plugin(key, OpenApi(key)));
  return *entry;
}

uint64_t Plugin::file_hash() const {
  std::call_once(hash_once_, [this] { hash_ = HashFile(path_); });
  return hash_;
}

}  // namespace tpjrt::pjrt
