// A completion notes when the last of its work was done, on every plugin.
#include "exec/completion.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "pjrt/run_program.h"
#include "plugins_under_test.h"

namespace tpjrt::exec {
namespace {

TEST(Completion, OfNothingIsDoneAtOnce) {
  const auto before = Clock::now();
  const Completion none;
  EXPECT_TRUE(none.done());
  none.Wait();
  EXPECT_GE(none.time(), before);
  EXPECT_LE(none.time(), Clock::now());
}

class CompletionTest : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Plugins, CompletionTest, testing::ValuesIn(test::PluginPaths()),
                         [](const auto& info) { return test::PluginName(info.param); });

TEST_P(CompletionTest, IsDoneAfterAllOfItsWork) {
  const pjrt::Client& client = test::ClientOf(GetParam());
  const int64_t n = 512;
  const std::string type = "tensor<512x512xf32>";
  const auto program = client.Compile(
      test::Main("%a: " + type, type,
                 "%0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (" + type +
                     ", " + type + ") -> " + type + "\nreturn %0 : " + type),
      1);
  const auto a = test::Upload(client, test::Floats(n * n, 1e-3F), {n, n});
  std::vector<pjrt::Buffer> results;
  std::vector<std::shared_ptr<const Work>> work;
  const auto before = Clock::now();
  for (int i = 0; i < 8; ++i) {
    results.push_back(std::move(test::Execute(client, *program, {&a})[0]));
    work.push_back(Work::Watch(results.back().ReadyEvent()));  // the event goes before it happens
  }
  const Completion all(work);
  std::vector<std::thread> waiters;
  for (int i = 0; i < 3; ++i) waiters.emplace_back([&] { all.Wait(); });
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_TRUE(all.done());
  for (const pjrt::Buffer& result : results) EXPECT_TRUE(result.IsReady());
  EXPECT_GT(all.time(), before);
  EXPECT_LE(all.time(), Clock::now());
  EXPECT_GE(Completion(work).time(), all.time());
}

}  // namespace
}  // namespace tpjrt::exec
