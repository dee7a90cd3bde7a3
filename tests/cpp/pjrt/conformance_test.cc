// What the core needs of a PJRT plugin: values, shapes, devices, donation. The same tests for every
// plugin found; tests/plugin runs each in a process of its own, so that a crash is one failure.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "pjrt/call.h"
#include "pjrt/run_program.h"
#include "plugins_under_test.h"

namespace tpjrt::test {
namespace {

using pjrt::Buffer;
using pjrt::Client;

class PluginConformance : public testing::TestWithParam<std::string> {
 protected:
  const Client& client() const { return ClientOf(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Plugins, PluginConformance, testing::ValuesIn(PluginPaths()),
                         [](const auto& info) { return PluginName(info.param); });

Floats Iota(size_t n) {
  Floats values(n);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

TEST_P(PluginConformance, NamesItsPlatformAndDevices) {
  EXPECT_FALSE(client().platform_name().empty());
  ASSERT_GE(client().num_devices(), 1);
  EXPECT_FALSE(client().device_info(0).kind.empty());
}

TEST_P(PluginConformance, ExecutesAndReportsTheSignature) {
  const auto program = client().Compile(
      Main("%a: tensor<2x3xf32>", "tensor<3x2xf32>, tensor<f32>",
           "%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>\n"
           "%1 = stablehlo.constant dense<7.0> : tensor<f32>\n"
           "return %0, %1 : tensor<3x2xf32>, tensor<f32>"),
      1);
  ASSERT_EQ(program->num_outputs(), 2);
  EXPECT_EQ(program->output_dims(0), (Dims{3, 2}));
  EXPECT_EQ(program->output_dims(1), Dims{});
  EXPECT_EQ(program->output_dtype(0), DType::kF32);
  const Buffer a = Upload(client(), {0, 1, 2, 3, 4, 5}, {2, 3});
  const auto results = Execute(client(), *program, {&a});
  EXPECT_EQ(Read(results[0]), (Floats{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(Read(results[1]), Floats{7});
}

TEST_P(PluginConformance, RunsProgramsWithoutParameters) {
  const auto program = client().Compile(
      Main("", "tensor<4xi32>",
           "%0 = stablehlo.iota dim = 0 : tensor<4xi32>\nreturn %0 : tensor<4xi32>"),
      0);
  const auto results = Execute(client(), *program, std::initializer_list<const Buffer*>{});
  std::vector<int32_t> values(4);
  results[0].CopyToHost(values.data());
  EXPECT_EQ(values, (std::vector<int32_t>{0, 1, 2, 3}));
}

TEST_P(PluginConformance, EveryDtypeSurvivesTheRoundTrip) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    for (const int64_t n : {6, 30000}) {
      std::vector<unsigned char> sent(static_cast<size_t>(n) * ItemSize(dtype));
      for (size_t k = 0; k < sent.size(); ++k) {
        sent[k] = static_cast<unsigned char>(dtype == DType::kBool ? k % 3 == 0 : 7 * k + 1);
      }
      const Buffer buffer = client().FromHost(sent.data(), dtype, Dims{2, n / 2}, 0);
      std::vector<unsigned char> received(sent.size(), 0xee);
      buffer.CopyToHost(received.data());
      EXPECT_EQ(sent, received) << Name(dtype) << " x " << n;
    }
  }
}

TEST_P(PluginConformance, EveryDtypeGoesThroughAProgram) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    const std::string element(HloName(dtype));
    const std::string from = "tensor<2x3x" + element + ">", to = "tensor<3x2x" + element + ">";
    const auto program = client().Compile(Main("%a: " + from, to,
                                               "%0 = stablehlo.transpose %a, dims = [1, 0] : (" +
                                                   from + ") -> " + to + "\nreturn %0 : " + to),
                                          1);
    EXPECT_EQ(program->output_dtype(0), dtype);
    const size_t size = ItemSize(dtype);
    std::vector<unsigned char> sent(6 * size), expected(6 * size), received(6 * size);
    for (size_t k = 0; k < 6; ++k) {
      sent[k * size] = static_cast<unsigned char>(dtype == DType::kBool ? k % 2 : k + 1);
      std::memcpy(&expected[(k % 3 * 2 + k / 3) * size], &sent[k * size], size);
    }
    const Buffer a = client().FromHost(sent.data(), dtype, Dims{2, 3}, 0);
    Execute(client(), *program, {&a})[0].CopyToHost(received.data());
    EXPECT_EQ(received, expected) << Name(dtype);
  }
}

TEST_P(PluginConformance, RankZero) {
  const auto program =
      client().Compile(Main("%a: tensor<f32>", "tensor<f32>",
                            "%0 = stablehlo.add %a, %a : tensor<f32>\nreturn %0 : tensor<f32>"),
                       1);
  const Buffer a = Upload(client(), {2.5f}, Dims{});
  EXPECT_EQ(a.nbytes(), 4);
  EXPECT_EQ(Read(Execute(client(), *program, {&a})[0]), Floats{5});
}

TEST_P(PluginConformance, ArraysWithoutElements) {
  const Buffer a = client().FromHost(nullptr, DType::kF32, Dims{0, 3}, 0);
  EXPECT_EQ(a.nbytes(), 0);
  a.CopyToHost(nullptr);
  const auto sum = client().Compile(
      Main("%a: tensor<0x3xf32>", "tensor<3xf32>, tensor<3x0xf32>",
           "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
           "%0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : "
           "(tensor<0x3xf32>, tensor<f32>) -> tensor<3xf32>\n"
           "%1 = stablehlo.transpose %a, dims = [1, 0] : (tensor<0x3xf32>) -> tensor<3x0xf32>\n"
           "return %0, %1 : tensor<3xf32>, tensor<3x0xf32>"),
      1);
  const auto results = Execute(client(), *sum, {&a});
  EXPECT_EQ(Read(results[0]), (Floats{0, 0, 0}));
  EXPECT_EQ(results[1].nbytes(), 0);
  results[1].Await();
}

TEST_P(PluginConformance, HostMemoryMayBeReusedAfterTheUpload) {
  // 64-byte alignment is where plugins are tempted to alias the host's memory.
  const size_t n = 1 << 18;
  auto* host = static_cast<float*>(std::aligned_alloc(64, n * sizeof(float)));
  std::fill_n(host, n, 1.0f);
  const Buffer buffer = client().FromHost(host, DType::kF32, Dims{static_cast<int64_t>(n)}, 0);
  std::fill_n(host, n, 2.0f);
  EXPECT_EQ(Read(buffer), Floats(n, 1.0f));
  std::free(host);
}

TEST_P(PluginConformance, LargeResultsAreRowMajor) {
  const auto program = client().Compile(Main("%a: tensor<300x500xf32>", "tensor<500x300xf32>",
                                             "%0 = stablehlo.transpose %a, dims = [1, 0] : "
                                             "(tensor<300x500xf32>) -> tensor<500x300xf32>\n"
                                             "return %0 : tensor<500x300xf32>"),
                                        1);
  const Buffer a = Upload(client(), Iota(150000), {300, 500});
  const Floats result = Read(Execute(client(), *program, {&a})[0]);
  for (size_t i = 0; i < result.size(); ++i) {
    ASSERT_EQ(result[i], static_cast<float>(i % 300 * 500 + i / 300)) << i;
  }
}

TEST_P(PluginConformance, OtherDeviceLayoutsAreReadRowMajor) {
  const std::string type = "tensor<2x3x4xf32>";
  for (const char* minor_to_major : {"{0,1,2}", "{1,2,0}", "{2,0,1}"}) {
    const auto program = client().Compile(
        Main("%a: " + type, type + " {mhlo.layout_mode = \"" + std::string(minor_to_major) + "\"}",
             "return %a : " + type),
        1);
    const Buffer a = Upload(client(), Iota(24), {2, 3, 4});
    const auto results = Execute(client(), *program, {&a});
    EXPECT_EQ(Read(results[0]), Iota(24)) << minor_to_major;
  }
}

TEST_P(PluginConformance, AwaitMakesReady) {
  const auto program = client().Compile(AddProgram(100000), 2);
  const Buffer a = Upload(client(), Iota(100000));
  const auto results = Execute(client(), *program, {&a, &a});
  results[0].Await();
  EXPECT_TRUE(results[0].IsReady());
}

TEST_P(PluginConformance, PortableProgramsRunOnEveryDevice) {
  const auto program = client().Compile(AddProgram(4), 2);
  for (int device = 0; device < client().num_devices(); ++device) {
    const Buffer a = Upload(client(), {1, 2, 3, static_cast<float>(device)}, device);
    const auto results = Execute(client(), *program, {&a, &a}, device);
    EXPECT_EQ(results[0].device(), device);
    EXPECT_EQ(Read(results[0]), (Floats{2, 4, 6, 2.0f * static_cast<float>(device)}));
  }
}

TEST_P(PluginConformance, CopiesBetweenDevices) {
  if (client().num_devices() < 2) GTEST_SKIP() << "one device";
  for (const size_t n : {size_t{4}, size_t{100000}}) {
    const Buffer a = Upload(client(), Iota(n), 0);
    const Buffer there = a.CopyToDevice(1);
    EXPECT_EQ(there.device(), 1);
    EXPECT_EQ(Read(there), Iota(n));
    const Buffer back = there.CopyToDevice(0);
    EXPECT_EQ(Read(back), Iota(n));
    const auto program = client().Compile(AddProgram(static_cast<int64_t>(n)), 2);
    EXPECT_EQ(Execute(client(), *program, {&there, &there}, 1)[0].device(), 1);
  }
}

// --- Donation.

uintptr_t AddressOf(const Client& client, const Buffer& buffer) {
  auto args = TPJRT_ARGS(PJRT_Buffer_UnsafePointer);
  args.buffer = buffer.handle();
  TPJRT_CALL(client.api(), PJRT_Buffer_UnsafePointer, args);
  return args.buffer_pointer;
}

TEST_P(PluginConformance, DonationReusesTheMemory) {
  for (const char* attribute : {"{tf.aliasing_output = 0 : i32}", "{jax.buffer_donor = true}"}) {
    const auto program = client().Compile(AddProgram(1000, attribute), 2);
    const Buffer a = Upload(client(), Iota(1000));
    const Buffer b = Upload(client(), Floats(1000, 1.0f));
    const uintptr_t before = AddressOf(client(), a);
    const auto results = Execute(client(), *program, {&a, &b});
    EXPECT_EQ(Read(results[0])[999], 1000.0f);
    EXPECT_EQ(AddressOf(client(), results[0]), before) << attribute;
    EXPECT_THROW(Read(a), Error) << "a donated buffer was read";
    EXPECT_EQ(Read(b), Floats(1000, 1.0f));
  }
}

TEST_P(PluginConformance, DonationCanBeVetoed) {
  const auto program = client().Compile(AddProgram(4, "{tf.aliasing_output = 0 : i32}"), 2);
  const Buffer a = Upload(client(), {1, 2, 3, 4});
  const Buffer b = Upload(client(), {1, 1, 1, 1});
  const int64_t keep[] = {0};
  const auto results = Execute(client(), *program, {&a, &b}, 0, keep);
  EXPECT_EQ(Read(results[0]), (Floats{2, 3, 4, 5}));
  EXPECT_EQ(Read(a), (Floats{1, 2, 3, 4}));
  const auto again = Execute(client(), *program, {&a, &b});
  EXPECT_EQ(Read(again[0]), (Floats{2, 3, 4, 5}));
}

TEST_P(PluginConformance, ADonatedBufferCannotBeUsedTwice) {
  const auto program = client().Compile(AddProgram(4, "{tf.aliasing_output = 0 : i32}"), 2);
  const Buffer a = Upload(client(), {1, 2, 3, 4});
  EXPECT_THROW(Execute(client(), *program, {&a, &a}), Error) << "the same buffer donated and read";
  const Buffer b = Upload(client(), {1, 2, 3, 4});
  const Buffer c = Upload(client(), {1, 1, 1, 1});
  Execute(client(), *program, {&b, &c})[0].Await();
  EXPECT_THROW(Execute(client(), *program, {&b, &c}), Error) << "donated in an earlier call";
  EXPECT_EQ(Read(c), (Floats{1, 1, 1, 1}));
}

TEST_P(PluginConformance, DonatedChainsOfManyStepsAreExact) {
  const auto program = client().Compile(AddProgram(64, "{tf.aliasing_output = 0 : i32}"), 2);
  Buffer sum = Upload(client(), Floats(64, 0.0f));
  const Buffer one = Upload(client(), Floats(64, 1.0f));
  for (int i = 0; i < 1000; ++i) sum = std::move(Execute(client(), *program, {&sum, &one})[0]);
  EXPECT_EQ(Read(sum), Floats(64, 1000.0f));
}

}  // namespace
}  // namespace tpjrt::test
