// What one PJRT plugin costs per call, without PyTorch:
//   raw_execute [--synchronous] PLUGIN.so [PLUGIN.so ...]
// --synchronous asks for a client that runs programs in the calling thread.
// Prints one JSON object per plugin; microseconds unless the name says otherwise; always the best
// of many rounds, since everything else on the machine only adds.
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
using tpjrt::pjrt::ClientOption;
using tpjrt::pjrt::Executable;
using tpjrt::pjrt::Plugin;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Microseconds per call: the best of many rounds short enough to fit between interruptions.
double Best(int calls, const std::function<void()>& body) {
  double best = 1e30;
  for (int round = 0; round < 200; ++round) {
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

// `layers` times tanh(x @ w), n x n: a program large enough for the compiler to matter.
std::string LayersProgram(int n, int layers) {
  const std::string type = "tensor<" + std::to_string(n) + "x" + std::to_string(n) + "xf32>";
  std::string text =
      "module { func.func @main(%a: " + type + ", %b: " + type + ") -> " + type + " {\n";
  std::string x = "%a";
  for (int i = 0; i < layers; ++i) {
    const std::string id = std::to_string(i);
    text += "%d" + id + " = stablehlo.dot_general " + x +
            ", %b, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (" + type + ", " +
            type + ") -> " + type + "\n%t" + id + " = stablehlo.tanh %d" + id + " : " + type + "\n";
    x = "%t" + id;
  }
  return text + "return " + x + " : " + type + " } }";
}

double BestCompileMs(const Client& client, const std::string& program, int repeats) {
  double best = 1e30;
  for (int i = 0; i < repeats; ++i) {
    const double start = Now();
    client.Compile(program, 2);
    best = std::min(best, (Now() - start) * 1e3);
  }
  return best;
}

Buffer Run(const Client& client, const Executable& program, const Buffer& a, const Buffer& b) {
  PJRT_Buffer* in[] = {a.handle(), b.handle()};
  PJRT_Buffer* out[1];
  program.Execute(in, out, 0);
  return Buffer(&client, out[0], DType::kF32, a.dims(), 0);
}

class Report {
 public:
  void Add(const std::string& name, double value) {
    char text[64];
    std::snprintf(text, sizeof(text), "%.2f", value);
    line_ += ", \"" + name + "\": " + text;
  }
  void Print(const std::string& plugin, const std::string& version) const {
    std::printf("{\"plugin\": \"%s\", \"api\": \"%s\"%s}\n", plugin.c_str(), version.c_str(),
                line_.c_str());
    std::fflush(stdout);
  }

 private:
  std::string line_;
};

void MeasureExecute(const Client& client, const std::vector<float>& host, Report& report) {
  const auto upload = [&](int64_t n) {
    return client.FromHost(host.data(), DType::kF32, std::vector<int64_t>{n}, 0);
  };
  const auto add = client.Compile(AddProgram(4, false), 2);
  const auto add_into = client.Compile(AddProgram(4, true), 2);
  const auto add_1024 = client.Compile(AddProgram(1024, false), 2);
  const Buffer a = upload(4), b = upload(4), c = upload(1024), d = upload(1024);
  Buffer sum = upload(4);
  report.Add("execute", Best(500, [&] { Run(client, *add, a, b); }));
  report.Add("execute_donated", Best(500, [&] { sum = Run(client, *add_into, sum, b); }));
  report.Add("execute_1024_await", Best(50, [&] { Run(client, *add_1024, c, d).Await(); }));
  const auto layers = client.Compile(LayersProgram(64, 24), 2);
  const std::vector<int64_t> square = {64, 64};
  const Buffer x = client.FromHost(host.data(), DType::kF32, square, 0);
  report.Add("execute_layers_await", Best(3, [&] { Run(client, *layers, x, x).Await(); }));
}

void MeasureCopies(const Client& client, const std::vector<float>& host, Report& report) {
  const auto upload = [&](int64_t n) {
    return client.FromHost(host.data(), DType::kF32, std::vector<int64_t>{n}, 0);
  };
  std::vector<float> back(host.size());
  const Buffer a = upload(4), big = upload(static_cast<int64_t>(host.size()));
  report.Add("upload_scalar", Best(500, [&] { client.FromHost(host.data(), DType::kF32, {}, 0); }));
  report.Add("read_16_bytes", Best(500, [&] { a.CopyToHost(back.data()); }));
  report.Add("upload_4_mib", Best(2, [&] { upload(1 << 20).Await(); }));
  report.Add("read_4_mib", Best(2, [&] { big.CopyToHost(back.data()); }));
}

void Measure(const std::string& path, const std::vector<ClientOption>& options) {
  const Plugin& plugin = Plugin::Load(path);
  Report report;
  const double start = Now();
  const auto client = Client::Create(plugin, options);
  report.Add("create_ms", (Now() - start) * 1e3);
  report.Add("compile_add_ms", BestCompileMs(*client, AddProgram(4, false), 15));
  report.Add("compile_layers_ms", BestCompileMs(*client, LayersProgram(64, 24), 5));
  const std::vector<float> host(1 << 20, 0.01f);
  MeasureExecute(*client, host, report);
  MeasureCopies(*client, host, report);
  report.Print(path.substr(path.rfind('/') + 1),
               std::to_string(plugin.api_major()) + "." + std::to_string(plugin.api_minor()));
}

}  // namespace

int main(int argc, char** argv) {
  const bool synchronous = argc > 1 && std::string(argv[1]) == "--synchronous";
  const int first = synchronous ? 2 : 1;
  if (first >= argc) {
    std::fprintf(stderr, "usage: raw_execute [--synchronous] PLUGIN.so [PLUGIN.so ...]\n");
    return 2;
  }
  try {
    std::vector<ClientOption> options;
    if (synchronous) options.push_back({"asynchronous", false});
    for (int i = first; i < argc; ++i) Measure(argv[i], options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
