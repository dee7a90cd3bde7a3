// The counting proxy (tests/proxy_plugin): it forwards, and it counts.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "pjrt/call.h"
#include "pjrt/run_program.h"
#include "plugins_under_test.h"

namespace tpjrt::test {
namespace {

class ProxyTest : public testing::Test {
 protected:
  // The proxy reads its target once, when it is loaded.
  static void SetUpTestSuite() {
    setenv("TPJRT_PROXY_TARGET", PluginPaths().back().c_str(), 0);
    ClientOf(TPJRT_PROXY_PLUGIN);
  }
  void SetUp() override {
    library_ = dlopen(TPJRT_PROXY_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr);
    Symbol<void()>("tpjrt_proxy_reset")();
  }
  template <typename Function>
  Function* Symbol(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(library_, name));
  }
  std::map<std::string, uint64_t> Counts() const {
    std::vector<uint64_t> values(64);
    const int n = Symbol<int(uint64_t*, int)>("tpjrt_proxy_counts")(values.data(), 64);
    std::map<std::string, uint64_t> counts;
    for (int i = 0; i < n; ++i) {
      counts[Symbol<const char*(int)>("tpjrt_proxy_name")(i)] = values[static_cast<size_t>(i)];
    }
    return counts;
  }
  uint64_t Reads() const { return Symbol<uint64_t()>("tpjrt_proxy_reads")(); }
  void* library_ = nullptr;
};

TEST_F(ProxyTest, CountsRunsAndUploadsButNoReads) {
  const pjrt::Client& client = ClientOf(TPJRT_PROXY_PLUGIN);
  const auto program = client.Compile(AddProgram(4), 2);
  const pjrt::Buffer a = Upload(client, {1, 2, 3, 4});
  auto results = Execute(client, *program, {&a, &a});
  results = Execute(client, *program, {&results[0], &a});
  results[0].Await();
  auto counts = Counts();
  EXPECT_EQ(counts["compile"], 1u);
  EXPECT_EQ(counts["upload"], 1u);
  EXPECT_EQ(counts["execute"], 2u);
  EXPECT_EQ(Reads(), 0u);
  EXPECT_EQ(Read(results[0]), (Floats{3, 6, 9, 12}));
  EXPECT_EQ(Reads(), 1u);
}

TEST_F(ProxyTest, CountsBothWaysOfReading) {
  const pjrt::Client& client = ClientOf(TPJRT_PROXY_PLUGIN);
  const pjrt::Buffer a = Upload(client, {1, 2});
  EXPECT_EQ(Read(a), (Floats{1, 2}));
  EXPECT_EQ(Counts()["unsafe_pointer"], 1u);
  Floats values(2);
  auto args = TPJRT_ARGS(PJRT_Buffer_ToHostBuffer);
  args.src = a.handle();
  args.dst = values.data();
  args.dst_size = 8;
  TPJRT_CALL(client.api(), PJRT_Buffer_ToHostBuffer, args);
  pjrt::Event(client.api(), args.event).Await();
  EXPECT_EQ(values, (Floats{1, 2}));
  EXPECT_EQ(Counts()["to_host_buffer"], 1u);
  EXPECT_EQ(Reads(), 2u);
}

TEST_F(ProxyTest, MemoryThatTheHostCannotSeeIsReadByTheEntryPointForIt) {
  setenv("TPJRT_PROXY_PLATFORM", "accelerator", 1);
  const auto client = pjrt::Client::Create(pjrt::Plugin::Load(TPJRT_PROXY_PLUGIN));
  unsetenv("TPJRT_PROXY_PLATFORM");
  ASSERT_EQ(client->platform_name(), "accelerator");
  ASSERT_FALSE(client->host_memory());
  EXPECT_EQ(Read(Upload(*client, {1, 2, 3, 4, 5, 6}, {2, 3})), (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Read(Upload(*client, {7}, Dims{})), Floats{7});
  EXPECT_EQ(Read(Upload(*client, {}, Dims{0, 3})), Floats{});
  const pjrt::Buffer here = Upload(*client, Floats(100000, 3.0f));
  EXPECT_EQ(Read(here.CopyToDevice(1)), Floats(100000, 3.0f));
  EXPECT_EQ(Counts()["unsafe_pointer"], 0u);
  EXPECT_EQ(Counts()["to_host_buffer"], 3u);
}

TEST_F(ProxyTest, KeepsTheLengthOfTheRealTable) {
  const auto& proxy = pjrt::Plugin::Load(TPJRT_PROXY_PLUGIN);
  const auto& real = pjrt::Plugin::Load(std::getenv("TPJRT_PROXY_TARGET"));
  EXPECT_EQ(proxy.api()->struct_size, real.api()->struct_size);
  EXPECT_EQ(proxy.api_minor(), real.api_minor());
}

}  // namespace
}  // namespace tpjrt::test
