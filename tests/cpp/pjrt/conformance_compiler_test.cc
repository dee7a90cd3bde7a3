// What the core needs of a PJRT plugin's compiler and runtime under stress: errors instead of
// aborts, serialization, CHLO, large constants, threads. Continues conformance_test.cc.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "pjrt/run_program.h"
#include "plugins_under_test.h"

namespace tpjrt::test {
namespace {

using pjrt::Buffer;
using pjrt::Client;

class CompilerConformance : public testing::TestWithParam<std::string> {
 protected:
  const Client& client() const { return ClientOf(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Plugins, CompilerConformance, testing::ValuesIn(PluginPaths()),
                         [](const auto& info) { return PluginName(info.param); });

// --- Errors, never an abort.

TEST_P(CompilerConformance, BadProgramsAreErrors) {
  const std::string programs[] = {
      "",
      "this is not MLIR",
      "module { }",
      "module { func.func @main(",
      Main("%a: tensor<2xf32>", "tensor<3xf32>", "return %a : tensor<2xf32>"),
      Main("%a: tensor<2xf32>", "tensor<2xf32>",
           "%0 = stablehlo.no_such_op %a : tensor<2xf32>\nreturn %0 : tensor<2xf32>"),
      Main("%a: tensor<2xf32>, %b: tensor<3xf32>", "tensor<2xf32>",
           "%0 = \"stablehlo.add\"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>\n"
           "return %0 : tensor<2xf32>"),
      Main("%a: tensor<2xf32>", "tensor<2xf32>", "return %undefined : tensor<2xf32>"),
  };
  for (const std::string& program : programs) {
    const Error error = ErrorOf([&] { client().Compile(program, 1); });
    EXPECT_NE(std::string(error.what()).find("PJRT_Client_Compile"), std::string::npos) << program;
    EXPECT_NE(error.code(), ErrorCode::kResourceExhausted) << program;
  }
}

TEST_P(CompilerConformance, TheCompilersMessageNamesTheOp) {
  const Error error = ErrorOf([&] {
    client().Compile(Main("%a: tensor<2xf32>, %b: tensor<3xf32>", "tensor<2xf32>",
                          "%0 = \"stablehlo.add\"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> "
                          "tensor<2xf32>\nreturn %0 : tensor<2xf32>"),
                     2);
  });
  // Plugins answer UNKNOWN or INVALID_ARGUMENT to a program that does not parse.
  EXPECT_TRUE(error.code() == ErrorCode::kInternal || error.code() == ErrorCode::kInvalidArgument)
      << error.what();
  EXPECT_NE(std::string(error.what()).find("stablehlo.add"), std::string::npos) << error.what();
}

TEST_P(CompilerConformance, UnknownCustomCallsAreErrors) {
  EXPECT_THROW(
      {
        const auto program = client().Compile(
            Main("%a: tensor<2xf32>", "tensor<2xf32>",
                 "%0 = stablehlo.custom_call @tpjrt_no_such_target(%a) {api_version = 4 : i32} : "
                 "(tensor<2xf32>) -> tensor<2xf32>\nreturn %0 : tensor<2xf32>"),
            1);
        const Buffer a = Upload(client(), {1, 2});
        Execute(client(), *program, {&a})[0].Await();
      },
      Error);
}

TEST_P(CompilerConformance, WrongArgumentsAreErrors) {
  const auto program = client().Compile(AddProgram(4), 2);
  const Buffer good = Upload(client(), {1, 2, 3, 4});
  const Buffer longer = Upload(client(), {1, 2, 3, 4, 5});
  const Buffer shorter = Upload(client(), {1, 2, 3});
  const double wide[] = {1, 2, 3, 4};
  const Buffer doubles = client().FromHost(wide, DType::kF64, Dims{4}, 0);
  const Error error = ErrorOf([&] { Execute(client(), *program, {&good, &longer})[0].Await(); });
  EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << error.what();
  EXPECT_THROW(Execute(client(), *program, {&good, &shorter})[0].Await(), Error);
  EXPECT_THROW(Execute(client(), *program, {&good, &doubles})[0].Await(), Error);
  EXPECT_EQ(Read(Execute(client(), *program, {&good, &good})[0]), (Floats{2, 4, 6, 8}));
}

TEST_P(CompilerConformance, ArgumentsOnAnotherDeviceAreErrors) {
  if (client().num_devices() < 2) GTEST_SKIP() << "one device";
  const auto program = client().Compile(AddProgram(4), 2);
  const Buffer here = Upload(client(), {1, 2, 3, 4}, 0);
  const Buffer there = Upload(client(), {1, 2, 3, 4}, 1);
  EXPECT_THROW(Execute(client(), *program, {&here, &there}, 0)[0].Await(), Error);
}

TEST_P(CompilerConformance, ExhaustedMemoryIsAnErrorWithItsCode) {
  const std::string type = "tensor<70368744177664xf32>";  // 256 TiB
  const Error error = ErrorOf([&] {
    const auto program =
        client().Compile(Main("%a: tensor<f32>", type,
                              "%0 = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> " +
                                  type + "\nreturn %0 : " + type),
                         1);
    const Buffer a = Upload(client(), {1}, Dims{});
    Execute(client(), *program, {&a})[0].Await();
  });
  EXPECT_EQ(error.code(), ErrorCode::kResourceExhausted) << error.what();
}

// --- Serialization.

TEST_P(CompilerConformance, SerializedProgramsGiveTheSameBits) {
  const std::string type = "tensor<64x64xf32>";
  const auto program =
      client().Compile(Main("%a: " + type, type,
                            "%0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (" +
                                type + ", " + type + ") -> " + type +
                                "\n%1 = stablehlo.tanh %0 : " + type + "\nreturn %1 : " + type),
                       1);
  Floats values(64 * 64);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i)) / 8;
  const Buffer a = Upload(client(), values, {64, 64});
  const std::string blob = program->Serialize();
  ASSERT_FALSE(blob.empty());
  const auto loaded = client().Deserialize(blob, 1);
  EXPECT_EQ(loaded->output_dims(0), (Dims{64, 64}));
  EXPECT_EQ(Read(Execute(client(), *loaded, {&a})[0]), Read(Execute(client(), *program, {&a})[0]));
  for (int device = 1; device < client().num_devices(); ++device) {
    const Buffer there = a.CopyToDevice(device);
    EXPECT_EQ(Execute(client(), *loaded, {&there}, device)[0].device(), device);
  }
}

TEST_P(CompilerConformance, ForeignBlobsAreErrors) {
  EXPECT_THROW(client().Deserialize("", 1), Error);
  EXPECT_THROW(client().Deserialize("these bytes are no program", 1), Error);
}

TEST_P(CompilerConformance, TruncatedBlobsAreErrors) {
  const std::string blob = client().Compile(AddProgram(4), 2)->Serialize();
  EXPECT_THROW(client().Deserialize(std::string_view(blob).substr(0, blob.size() / 2), 2), Error);
}

// --- Programs.

TEST_P(CompilerConformance, ChloOpsCompile) {
  struct Case {
    const char* op;
    float at, value;
  };
  const Case cases[] = {
      {"erf", 0.5f, 0.5204999f},      {"erfc", 0.5f, 0.4795001f},
      {"erf_inv", 0.5f, 0.4769363f},  {"lgamma", 3.5f, 1.2009736f},
      {"digamma", 1.0f, -0.5772157f}, {"tan", 0.5f, 0.5463025f},
      {"asin", 0.5f, 0.5235988f},     {"acosh", 2.0f, 1.3169579f},
      {"sinh", 0.5f, 0.5210953f},     {"bessel_i1e", 1.0f, 0.2079104f},
  };
  for (const Case& c : cases) {
    const std::string op(c.op);
    const auto program = client().Compile(Main("%a: tensor<2xf32>", "tensor<2xf32>",
                                               "%0 = \"chlo." + op +
                                                   "\"(%a) : (tensor<2xf32>) -> tensor<2xf32>\n"
                                                   "return %0 : tensor<2xf32>"),
                                          1);
    const Buffer a = Upload(client(), {c.at, c.at});
    EXPECT_NEAR(Read(Execute(client(), *program, {&a})[0])[1], c.value, 2e-6) << op;
  }
}

TEST_P(CompilerConformance, MinimumAndMaximumPropagateNan) {
  const std::string type = "tensor<3xf32>";
  const auto program = client().Compile(
      Main("%a: " + type + ", %b: " + type, type + ", " + type + ", tensor<f32>",
           "%0 = stablehlo.maximum %a, %b : " + type + "\n%1 = stablehlo.minimum %a, %b : " + type +
               "\n%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
               "%2 = stablehlo.reduce(%b init: %z) applies stablehlo.maximum across dimensions = "
               "[0] : (" +
               type + ", tensor<f32>) -> tensor<f32>\nreturn %0, %1, %2 : " + type + ", " + type +
               ", tensor<f32>"),
      2);
  const float nan = std::nanf("");
  const Buffer a = Upload(client(), {nan, 1, 5});
  const Buffer b = Upload(client(), {1, nan, 2});
  const auto results = Execute(client(), *program, {&a, &b});
  for (int i = 0; i < 2; ++i) {
    const Floats values = Read(results[static_cast<size_t>(i)]);
    EXPECT_TRUE(std::isnan(values[0]) && std::isnan(values[1])) << i;
    EXPECT_EQ(values[2], i == 0 ? 5 : 2);
  }
  EXPECT_TRUE(std::isnan(Read(results[2])[0]));
}

TEST_P(CompilerConformance, TopK) {
  const auto program = client().Compile(
      Main("%a: tensor<5xf32>", "tensor<2xf32>, tensor<2xi32>",
           "%0:2 = chlo.top_k(%a, k = 2) : tensor<5xf32> -> (tensor<2xf32>, tensor<2xi32>)\n"
           "return %0#0, %0#1 : tensor<2xf32>, tensor<2xi32>"),
      1);
  const Buffer a = Upload(client(), {3, 9, 1, 7, 2});
  const auto results = Execute(client(), *program, {&a});
  EXPECT_EQ(Read(results[0]), (Floats{9, 7}));
  std::vector<int32_t> places(2);
  results[1].CopyToHost(places.data());
  EXPECT_EQ(places, (std::vector<int32_t>{1, 3}));
}

TEST_P(CompilerConformance, LargeConstants) {
  const size_t n = 1 << 16;
  std::string list;
  for (size_t i = 0; i < n; ++i) list += (i == 0 ? "" : ", ") + std::to_string(i * 3);
  const std::string type = "tensor<" + std::to_string(n) + "xi64>";
  const auto program = client().Compile(
      Main("", type,
           "%0 = stablehlo.constant dense<[" + list + "]> : " + type + "\nreturn %0 : " + type),
      0);
  const auto results = Execute(client(), *program, std::initializer_list<const Buffer*>{});
  std::vector<int64_t> values(n);
  results[0].CopyToHost(values.data());
  for (size_t i = 0; i < n; ++i) ASSERT_EQ(values[i], static_cast<int64_t>(i * 3));
}

TEST_P(CompilerConformance, LoopsWithRunTimeTripCount) {
  const auto program = client().Compile(
      Main("%n: tensor<i32>", "tensor<i32>",
           "%z = stablehlo.constant dense<0> : tensor<i32>\n"
           "%one = stablehlo.constant dense<1> : tensor<i32>\n"
           "%r:2 = stablehlo.while(%i = %z, %s = %z) : tensor<i32>, tensor<i32>\n"
           "cond { %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
           "stablehlo.return %c : tensor<i1> }\n"
           "do { %s2 = stablehlo.add %s, %i : tensor<i32>\n"
           "%i2 = stablehlo.add %i, %one : tensor<i32>\n"
           "stablehlo.return %i2, %s2 : tensor<i32>, tensor<i32> }\n"
           "return %r#1 : tensor<i32>"),
      1);
  for (const int32_t n : {0, 1, 100}) {
    const Buffer count = client().FromHost(&n, DType::kI32, Dims{}, 0);
    int32_t sum = -1;
    Execute(client(), *program, {&count})[0].CopyToHost(&sum);
    EXPECT_EQ(sum, n * (n - 1) / 2);
  }
}

// --- Threads.

void RunThreads(int count, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  std::vector<std::string> failures(static_cast<size_t>(count));
  for (int t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      try {
        body(t);
      } catch (const std::exception& error) {
        failures[static_cast<size_t>(t)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failures) EXPECT_EQ(failure, "");
}

TEST_P(CompilerConformance, EightThreadsShareAProgram) {
  for (const int64_t n : {4, 5000}) {  // run in the caller, run on the plugin's pool
    const auto program = client().Compile(AddProgram(n), 2);
    const Buffer one = Upload(client(), Floats(static_cast<size_t>(n), 1.0f));
    RunThreads(8, [&](int t) {
      const int device = t % client().num_devices();
      const Buffer one_here = Upload(client(), Floats(static_cast<size_t>(n), 1.0f), device);
      Buffer sum = Upload(client(), Floats(static_cast<size_t>(n), static_cast<float>(t)), device);
      for (int i = 0; i < 300; ++i) {
        const Buffer& addend = device == 0 ? one : one_here;
        sum = std::move(Execute(client(), *program, {&sum, &addend}, device)[0]);
      }
      Require(Read(sum) == Floats(static_cast<size_t>(n), static_cast<float>(t + 300)), "thread ",
              t, " read a wrong sum");
    });
  }
}

TEST_P(CompilerConformance, ThreadsCompileAtOnce) {
  RunThreads(4, [&](int t) {
    for (int i = 0; i < 3; ++i) {
      const int64_t n = 4 + t * 10 + i;
      const auto program = client().Compile(AddProgram(n), 2);
      const Buffer a = Upload(client(), Floats(static_cast<size_t>(n), 2.0f));
      Require(Read(Execute(client(), *program, {&a, &a})[0])[0] == 4.0f, "thread ", t,
              ": wrong sum");
    }
  });
}

}  // namespace
}  // namespace tpjrt::test
