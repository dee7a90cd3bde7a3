// A loaded PJRT plugin: the shared library and its C API table.
//
// Load maps a file once per process and path and never unloads it (plugins start threads). It
// throws Error for a missing, foreign (no GetPjrtApi), truncated or too old file, each with the
// path, the cause and what to do. Thread-safe.
#pragma once

#include <pjrt_c_api.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "base/error.h"

namespace tpjrt::pjrt {

class Plugin {
 public:
  static const Plugin& Load(const std::string& path);

  const PJRT_Api* api() const { return api_; }
  const std::string& path() const { return path_; }
  int api_major() const { return api_->pjrt_api_version.major_version; }
  int api_minor() const { return api_->pjrt_api_version.minor_version; }
  // Hash of the file's content, for cache keys ("cpu" says nothing about which compiler it is).
  // Computed on first use.
  uint64_t file_hash() const;

 private:
  Plugin(std::string path, const PJRT_Api* api);
  std::string path_;
  const PJRT_Api* api_;
  mutable std::once_flag hash_once_;
  mutable uint64_t hash_ = 0;
};

}  // namespace tpjrt::pjrt
