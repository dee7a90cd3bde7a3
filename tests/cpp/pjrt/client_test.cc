// Our side of the C API: options, arguments, moved-from handles, forks.
#include "pjrt/client.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pjrt/run_program.h"
#include "plugins_under_test.h"

namespace tpjrt::test {
namespace {

using pjrt::Buffer;
using pjrt::Client;
using pjrt::Plugin;

class ClientTest : public testing::Test {
 protected:
  const Client& client() const { return ClientOf(PluginPaths().at(0)); }
};

TEST(PjrtTypes, MapBothWays) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(pjrt::FromPjrt(pjrt::ToPjrt(dtype)), dtype) << Name(dtype);
  }
  for (const auto type : {PJRT_Buffer_Type_INVALID, PJRT_Buffer_Type_S4, PJRT_Buffer_Type_TOKEN}) {
    EXPECT_EQ(ErrorOf([&] { pjrt::FromPjrt(type); }).code(), ErrorCode::kUnimplemented);
  }
}

TEST(PjrtEvent, EmptyIsReady) {
  const pjrt::Event event;
  EXPECT_TRUE(event.IsReady());
  event.Await();
}

TEST_F(ClientTest, WrongNumberOfArgumentsOrOutputs) {
  const auto program = client().Compile(AddProgram(4), 2);
  const Buffer a = Upload(client(), {1, 2, 3, 4});
  EXPECT_EQ(ErrorOf([&] { Execute(client(), *program, {&a}); }).code(),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(ErrorOf([&] { Execute(client(), *program, {&a, &a, &a}); }).code(),
            ErrorCode::kInvalidArgument);
  PJRT_Buffer* arguments[] = {a.handle(), a.handle()};
  PJRT_Buffer* outputs[2];
  EXPECT_EQ(ErrorOf([&] { program->Execute(arguments, outputs, 0); }).code(),
            ErrorCode::kInvalidArgument);
}

TEST_F(ClientTest, EmptyBuffersAndUnknownDevices) {
  const auto program = client().Compile(AddProgram(4), 2);
  Buffer a = Upload(client(), {1, 2, 3, 4});
  const Buffer moved = std::move(a);
  EXPECT_THROW(Execute(client(), *program, {&moved, &a}), Error);  // NOLINT: a is empty, on purpose
  EXPECT_THROW(Execute(client(), *program, {&moved, &moved}, client().num_devices()), Error);
  EXPECT_THROW(Execute(client(), *program, {&moved, &moved}, -1), Error);
  EXPECT_THROW(Upload(client(), {1}, 99), Error);
  EXPECT_THROW(moved.CopyToDevice(0), Error) << "already there";
  EXPECT_THROW(client().FromHost(nullptr, DType::kF32, Dims{2}, 0), Error);
  EXPECT_EQ(Read(moved), (Floats{1, 2, 3, 4}));
}

TEST_F(ClientTest, MoveAssignmentKeepsTheValue) {
  Buffer a = Upload(client(), {1, 2});
  a = Upload(client(), {3, 4, 5});
  EXPECT_EQ(a.dims(), Dims{3});
  EXPECT_EQ(Read(a), (Floats{3, 4, 5}));
}

TEST_F(ClientTest, MissingMemoryStatisticsAreNoError) {
  pjrt::MemoryStats stats;
  if (client().GetMemoryStats(0, &stats)) {
    EXPECT_GE(stats.bytes_in_use, 0);
  }
}

TEST_F(ClientTest, TemporariesAreReported) {
  const std::string type = "tensor<256x256xf32>";
  const auto program = client().Compile(
      Main("%a: " + type, "tensor<f32>",
           "%0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (" + type + ", " +
               type + ") -> " + type +
               "\n%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
               "%1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0, "
               "1] : (" +
               type + ", tensor<f32>) -> tensor<f32>\nreturn %1 : tensor<f32>"),
      1);
  EXPECT_GE(program->temp_bytes(), 256 * 256 * 4);
}

class ClientOptionTest : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Plugins, ClientOptionTest, testing::ValuesIn(PluginPaths()),
                         [](const auto& info) { return PluginName(info.param); });

TEST_P(ClientOptionTest, UnknownOptionsAreDroppedAndKnownOnesKept) {
  const auto client =
      Client::Create(Plugin::Load(GetParam()), {{"no_such_option", std::string("x")},
                                                {"cpu_device_count", int64_t{3}},
                                                {"nor_this_one", true}});
  EXPECT_EQ(client->num_devices(), 3);
}

TEST_P(ClientOptionTest, OnlyTheVisibleDevicesAreSeen) {
  const Plugin& plugin = Plugin::Load(GetParam());
  const auto all = Client::Create(plugin, {{"cpu_device_count", int64_t{4}}});
  const auto client = Client::Create(plugin, {{"cpu_device_count", int64_t{4}}}, {3, 1});
  ASSERT_EQ(client->num_devices(), 2);
  EXPECT_EQ(client->device_info(0).id, all->device_info(3).id);
  EXPECT_EQ(client->device_info(1).id, all->device_info(1).id);
  const auto program = client->Compile(AddProgram(4), 2);
  const Buffer a = Upload(*client, {1, 2, 3, 4}, 0);
  const Buffer moved = a.CopyToDevice(1);
  const auto result = Execute(*client, *program, {&moved, &moved}, 1);
  EXPECT_EQ(Read(result[0]), (Floats{2, 4, 6, 8}));
  const Error error =
      ErrorOf([&] { Client::Create(plugin, {{"cpu_device_count", int64_t{4}}}, {4}); });
  EXPECT_NE(std::string(error.what()).find("visible device 4"), std::string::npos);
}

TEST_F(ClientTest, AForkedChildGetsAnErrorAndMayExit) {
  const auto program = client().Compile(AddProgram(4), 2);
  const Buffer a = Upload(client(), {1, 2, 3, 4});
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);  // a hang is a failure
    int refused = 0;
    try {
      Execute(client(), *program, {&a, &a});
    } catch (const Error& error) {
      refused += error.code() == ErrorCode::kFailedPrecondition;
    }
    try {
      Read(a);
    } catch (const Error& error) {
      refused += error.code() == ErrorCode::kFailedPrecondition;
    }
    {
      const Buffer moved = Buffer(&client(), a.handle(), DType::kF32, {4}, 0);
    }
    _exit(refused == 2 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(Read(a), (Floats{1, 2, 3, 4}));
}

}  // namespace
}  // namespace tpjrt::test
