// What one PJRT plugin costs per call, without PyTorch: raw_execute PLUGIN.so [PLUGIN.so ...]
// Prints one JSON object per plugin; microseconds unless the name says otherwise; the best of
// several rounds, since everything else on the machine only adds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "pjrt/client.h"

namespace {

using tpjrt::DType;
using tpjrt::pjrt::Buffer;
using tpjrt::pjrt::Client;
using tpjrt::pjrt::Executable;
using tpjrt::pjrt::Plugin;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Microseconds per call.
double Best(int calls, const std::function<void()>& body) {
  double best = 1e30;
  for (int round = 0; round < 7; ++round) {
    const double start = Now();
    for (int i = 0; i < calls; ++i) body();
    best = std::min(best, (Now() - start) / calls * 1e6);
  }
  return best;
}

std::string AddProgram(int n, bool alias) {
  const std::string type = "tensor<" + std::to_string(n) + "xf32>";
  return "module { func.func @main(%a: " + type + (alias ? " {tf.aliasing_output = 0 : i32}" : "") +
         ", %b: " + type + ") -> " + type + " { %0 = stablehlo.add %a, %b : " + type +
         " return %0 : " + type + " } }";
}

Buffer Run(const Client& client, const Executable& program, const Buffer& a, const Buffer& b) {
  PJRT_Buffer* in[] = {a.handle(), b.handle()};
  PJRT_Buffer* out[1];
  program.Execute(in, out, 0);
  return Buffer(&client, out[0], DType::kF32, a.dims(), 0);
}

void Measure(const std::string& path) {
  const Plugin& plugin = Plugin::Load(path);
  const double create_start = Now();
  auto client = Client::Create(plugin);
  const double create = Now() - create_start;

  const std::string program_text = AddProgram(4, false);
  std::vector<double> compiles;
  for (int i = 0; i < 9; ++i) {
    const double start = Now();
    client->Compile(program_text, 2);
    compiles.push_back(Now() - start);
  }
  std::sort(compiles.begin(), compiles.end());

  auto add = client->Compile(program_text, 2);
  auto add_into = client->Compile(AddProgram(4, true), 2);
  auto add_1024 = client->Compile(AddProgram(1024, false), 2);
  const std::vector<float> host(1 << 20, 1.0f);
  const auto upload = [&](int64_t n) {
    return client->FromHost(host.data(), DType::kF32, std::vector<int64_t>{n}, 0);
  };
  const Buffer a = upload(4), b = upload(4), c = upload(1024), d = upload(1024);
  Buffer chain = upload(4);
  std::vector<float> back(1 << 20);

  const double execute = Best(20000, [&] { Run(*client, *add, a, b); });
  const double donate = Best(20000, [&] { chain = Run(*client, *add_into, chain, b); });
  const double ready = Best(3000, [&] { Run(*client, *add_1024, c, d).Await(); });
  const double scalar = Best(20000, [&] { client->FromHost(host.data(), DType::kF32, {}, 0); });
  const double read = Best(20000, [&] { a.CopyToHost(back.data()); });
  const Buffer big = upload(1 << 20);
  const double read_big = Best(20, [&] { big.CopyToHost(back.data()); });
  const double upload_big = Best(20, [&] { upload(1 << 20).Await(); });

  std::printf(
      "{\"plugin\": \"%s\", \"api\": \"%d.%d\", \"create_ms\": %.1f, \"compile_add_ms\": %.1f, "
      "\"execute\": %.2f, \"execute_donated\": %.2f, \"execute_1024_ready\": %.1f, "
      "\"upload_scalar\": %.2f, \"read_16_bytes\": %.2f, \"read_4_mib\": %.0f, "
      "\"upload_4_mib\": %.0f}\n",
      path.substr(path.rfind('/') + 1).c_str(), plugin.api_major(), plugin.api_minor(),
      create * 1e3, compiles[compiles.size() / 2] * 1e3, execute, donate, ready, scalar, read,
      read_big, upload_big);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: raw_execute PLUGIN.so [PLUGIN.so ...]\n");
    return 2;
  }
  try {
    for (int i = 1; i < argc; ++i) Measure(argv[i]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
