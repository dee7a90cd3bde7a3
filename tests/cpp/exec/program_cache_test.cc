// Programs in memory: one compilation per text however many ask, background work, bounded growth.
#include "exec/program_cache.h"

#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "base/error.h"
#include "pjrt/run_program.h"
#include "plugins_under_test.h"

namespace tpjrt::exec {
namespace {

using test::Floats;

const pjrt::Client& Client() { return test::ClientOf(test::PluginPaths().at(0)); }

std::string Program(int i) { return test::AddProgram(i + 1); }

void RunThreads(int count, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  std::latch together(count);
  for (int t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      together.arrive_and_wait();
      body(t);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void RunAdd(const pjrt::Executable& program, int n) {
  const Floats values(static_cast<size_t>(n), 1.5F);
  const pjrt::Buffer a = test::Upload(Client(), values);
  const auto results = test::Execute(Client(), program, {&a, &a});
  EXPECT_EQ(test::Read(results.at(0)), Floats(static_cast<size_t>(n), 3.0F));
}

TEST(ProgramCache, ThreadsThatWantOneProgramShareIt) {
  ProgramCache cache;
  std::vector<ExecutableRef> programs(4);
  RunThreads(4, [&](int t) {
    programs[static_cast<size_t>(t)] = cache.Compile(Client(), Program(2), 2);
    RunAdd(*programs[static_cast<size_t>(t)], 3);
  });
  for (const ExecutableRef& program : programs) EXPECT_EQ(program, programs[0]);
  EXPECT_EQ(cache.counters().compiled, 1);
  EXPECT_EQ(cache.counters().memory_hits, 3);
}

TEST(ProgramCache, ThreadsCompileAndRunTheirOwnProgramsAtOnce) {
  ProgramCache cache;
  RunThreads(4, [&](int t) {
    for (int i = 0; i < 4; ++i) {
      const int n = 4 * t + i;
      RunAdd(*cache.Compile(Client(), Program(n), 2), n + 1);
    }
  });
  EXPECT_EQ(cache.counters().compiled, 16);
}

TEST(ProgramCache, PrefetchedProgramsAreCompiledOnce) {
  ProgramCache cache;
  for (int i = 0; i < 6; ++i) {
    cache.Prefetch(Client(), Program(i), 2);
    cache.Prefetch(Client(), Program(i), 2);
  }
  for (int i = 0; i < 6; ++i) RunAdd(*cache.Compile(Client(), Program(i), 2), i + 1);
  cache.StopBackground();
  EXPECT_EQ(cache.counters().compiled, 6);
  EXPECT_EQ(cache.watch().Progress().pending, 0);
}

TEST(ProgramCache, ThreadsPrefetchAndCompileTheSamePrograms) {
  ProgramCache cache;
  RunThreads(4, [&](int t) {
    for (int i = 0; i < 6; ++i) {
      if (t % 2 == 0) cache.Prefetch(Client(), Program(i), 2);
      RunAdd(*cache.Compile(Client(), Program(i), 2), i + 1);
    }
  });
  cache.StopBackground();
  EXPECT_EQ(cache.counters().compiled, 6);
}

TEST(ProgramCache, WhatWasNotBegunIsCompiledWhenAskedFor) {
  ProgramCache cache;
  for (int i = 0; i < 6; ++i) cache.Prefetch(Client(), Program(i), 2);
  cache.StopBackground();
  cache.Prefetch(Client(), Program(6), 2);  // too late: nothing happens
  for (int i = 0; i < 7; ++i) RunAdd(*cache.Compile(Client(), Program(i), 2), i + 1);
  EXPECT_EQ(cache.counters().compiled, 7);
  EXPECT_EQ(cache.watch().Progress().pending, 0);
}

TEST(ProgramCache, AnErrorInTheBackgroundIsThrownWhereTheProgramIsWanted) {
  ProgramCache cache;
  cache.Prefetch(Client(), "no module", 2);
  EXPECT_THROW(cache.Compile(Client(), "no module", 2), Error);
  EXPECT_THROW(cache.Compile(Client(), "no module", 2), Error);
  EXPECT_EQ(cache.compile_count(), 0);
}

TEST(ProgramCache, ThreadsThatWaitForAFailureAllGetIt) {
  ProgramCache cache;
  RunThreads(4, [&](int) { EXPECT_THROW(cache.Compile(Client(), "no module", 2), Error); });
  EXPECT_EQ(cache.compile_count(), 0);
}

TEST(ProgramCache, KeepsAProgramInUseAndTheLatestOthers) {
  ProgramCache cache(8);
  const ExecutableRef used = cache.Compile(Client(), Program(0), 2);
  const std::weak_ptr<const pjrt::Executable> unused = cache.Compile(Client(), Program(1), 2);
  for (int i = 0; i < 100; ++i) {
    try {  // digests of programs that are gone must go too: failures are the quick way to many
      cache.Compile(Client(), "no module " + std::to_string(i), 2);
    } catch (const Error&) {
    }
  }
  EXPECT_LE(cache.size(), 33U);
  EXPECT_EQ(cache.Compile(Client(), Program(0), 2), used);
  EXPECT_EQ(cache.Compile(Client(), Program(1), 2), unused.lock());
  EXPECT_EQ(cache.counters().compiled, 2);
}

TEST(ProgramCache, ForgetsProgramsThatNobodyUses) {
  ProgramCache cache(8);
  std::vector<std::weak_ptr<const pjrt::Executable>> programs;
  const std::string text = Program(0);
  for (size_t i = 0; i < 12; ++i) {
    programs.push_back(cache.Compile(Client(), text + std::string(i, '\n'), 2));
  }
  for (size_t i = 0; i < programs.size(); ++i) EXPECT_EQ(programs[i].expired(), i < 4) << i;
}

TEST(CompileWatch, TellsALongCompilationAndItsEnd) {
  CompileWatch watch;
  const int64_t first = watch.Begin();
  const int64_t second = watch.Begin();
  EXPECT_EQ(watch.Progress().pending, 2);
  EXPECT_TRUE(watch.WaitForLong(0));
  EXPECT_GT(watch.Progress().seconds, 0);
  watch.End(first);
  EXPECT_EQ(watch.Progress().finished, 1);
  watch.End(second);
  EXPECT_EQ(watch.Progress().pending, 0);
  EXPECT_EQ(watch.Progress().seconds, 0);
  watch.End(watch.Begin());
  EXPECT_EQ(watch.Progress().finished, 1) << "counted since there was last nothing pending";
  std::thread closer([&] { watch.Close(); });
  EXPECT_FALSE(watch.WaitForLong(1));
  closer.join();
}

TEST(Background, RunsEverythingAndWaitsForWhatHasBegun) {
  std::atomic<int> done{0};
  {
    Background background(3);
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(background.Submit([&] { ++done; }));
    while (done < 100) std::this_thread::yield();
    std::latch begun(1);
    EXPECT_TRUE(background.Submit([&] {
      begun.count_down();
      ++done;
    }));
    begun.wait();
    background.Stop();
    EXPECT_EQ(done, 101);
    EXPECT_FALSE(background.Submit([&] { ++done; }));
  }
  EXPECT_EQ(done, 101);
}

}  // namespace
}  // namespace tpjrt::exec
