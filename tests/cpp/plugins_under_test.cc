#include "plugins_under_test.h"

#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>

namespace tpjrt::test {

const std::vector<std::string>& PluginPaths() {
  static const std::vector<std::string> paths = [] {
    const char* given = std::getenv("TPJRT_TEST_PLUGINS");
    std::istringstream list(given == nullptr ? TPJRT_FOUND_PLUGINS : given);
    std::vector<std::string> result;
    for (std::string path; std::getline(list, path, ':');) {
      if (!path.empty()) result.push_back(path);
    }
    return result;
  }();
  return paths;
}

namespace {

std::map<std::string, std::unique_ptr<pjrt::Client>>& Clients() {
  static auto* clients = new std::map<std::string, std::unique_ptr<pjrt::Client>>;
  return *clients;
}

// Clients end before the process does: a plugin whose threads still work while its static objects
// are destroyed may abort (API 0.106 does).
class CloseClients : public testing::Environment {
  void TearDown() override { Clients().clear(); }
};

[[maybe_unused]] const testing::Environment* const kCloseClients =
    testing::AddGlobalTestEnvironment(new CloseClients);

}  // namespace

const pjrt::Client& ClientOf(const std::string& plugin_path) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  auto& client = Clients()[plugin_path];
  if (client == nullptr) client = pjrt::Client::Create(pjrt::Plugin::Load(plugin_path));
  return *client;
}

std::string PluginName(const std::string& plugin_path) {
  std::string name = std::filesystem::path(plugin_path).stem().string();
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

}  // namespace tpjrt::test

// Read by AddressSanitizer before main: exhausted memory must be an error, not an abort. Plugins
// keep what they allocate until the process ends.
extern "C" const char* __asan_default_options() {  // NOLINT: the sanitizer's name
  return "allocator_may_return_null=1:detect_leaks=0";
}
