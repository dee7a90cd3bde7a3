// Looks one program up from two threads. Its program cache is built with TPJRT_PLANTED_RACE, so
// ThreadSanitizer must report a data race here; `make tsan` fails when it does not.
#include <iostream>
#include <string>
#include <thread>

#include "exec/program_cache.h"

namespace {

constexpr char kProgram[] =
    "func.func @main(%a: tensor<f32>) -> tensor<f32> { return %a : tensor<f32> }";

}  // namespace

int main(int argc, char** argv) {
  const std::string plugins = argc > 1 ? argv[1] : "";
  const std::string plugin = plugins.substr(0, plugins.find(':'));
  try {
    const auto client = tpjrt::pjrt::Client::Create(tpjrt::pjrt::Plugin::Load(plugin));
    tpjrt::exec::ProgramCache cache;
    const auto look_up = [&] {
      for (int i = 0; i < 1000; ++i) cache.Compile(*client, kProgram, 1);
    };
    std::thread other(look_up);
    look_up();
    other.join();
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
