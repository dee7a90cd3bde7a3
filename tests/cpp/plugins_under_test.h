// The plugins the C++ tests run on, and one client for each, made on first use and kept.
#pragma once

#include <string>
#include <vector>

#include "pjrt/client.h"

namespace tpjrt::test {

// Paths from TPJRT_TEST_PLUGINS (separated by colons), else what the build found installed.
const std::vector<std::string>& PluginPaths();
const pjrt::Client& ClientOf(const std::string& plugin_path);
// The file's name without folder and ending: a name for gtest.
std::string PluginName(const std::string& plugin_path);

}  // namespace tpjrt::test
