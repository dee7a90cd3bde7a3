// Slots around executions: reads, whole writes with donation, failures, threads. On the first
// plugin.
#include "exec/execute.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "base/error.h"
#include "exec/runtime.h"
#include "hlo/elementwise.h"
#include "plugins_under_test.h"

namespace tpjrt::exec {
namespace {

Runtime& OpenRuntime() {
  Runtime& runtime = Runtime::Get();
  runtime.SetConfigProvider([] { return RuntimeConfig{test::PluginPaths().at(0), {}, {}}; });
  runtime.client();
  return runtime;
}

const PhysicalType* Floats(int64_t n) {
  const int64_t dims[] = {n};
  return InternType(DType::kF32, dims);
}

void Fill(Slot& slot, float value) {
  const std::vector<float> values(static_cast<size_t>(slot.type->num_elements), value);
  ReplaceSlot(slot, Runtime::Get().Upload(values.data(), *slot.type, slot.device), slot.type);
}

std::vector<float> Read(Slot& slot) {
  const BufferRef buffer = ReadSlot(slot);
  std::vector<float> values(static_cast<size_t>(buffer->buffer().nbytes()) / sizeof(float));
  buffer->buffer().CopyToHost(values.data());
  return values;
}

// a + b; with `alias` the result may reuse a's memory.
ExecutableRef AddProgram(int64_t n, bool alias) {
  hlo::Builder b;
  const hlo::Value x = b.Parameter({DType::kF32, {n}});
  const hlo::Value y = b.Parameter({DType::kF32, {n}});
  if (alias) b.AliasParameter(0, 0);
  const std::string text = b.Finish(std::array{x + y});
  return OpenRuntime().programs().Compile(Runtime::Get().client(), text, 2);
}

const PhysicalType* TypeOf(Slot& slot) {
  const std::lock_guard lock(slot.mutex);
  return slot.type;
}

void AddInto(const pjrt::Executable& program, Slot& target, Slot& other) {
  std::array operands{Operand{}, Operand{}};
  operands[0].slot = &target;
  operands[0].type = TypeOf(target);
  operands[0].may_donate = true;
  operands[1].slot = &other;
  operands[1].type = TypeOf(other);
  const std::array destinations{Destination{&target, operands[0].type}};
  std::vector<BufferRef> results;
  Execute(program, 0, operands, destinations, &results);
}

TEST(Execute, GivesNewBuffersToTheCaller) {
  const ExecutableRef program = AddProgram(3, false);
  Slot a(0, 12, Floats(3)), b(0, 12, Floats(3));
  Fill(a, 1);
  Fill(b, 2);
  std::array operands{Operand{}, Operand{}};
  operands[0].slot = &a;
  operands[0].type = a.type;
  operands[1].slot = &b;
  operands[1].type = b.type;
  const std::array destinations{Destination{nullptr, Floats(3)}};
  std::vector<BufferRef> results;
  Execute(*program, 0, operands, destinations, &results);
  Slot out(0, 12, Floats(3));
  ReplaceSlot(out, results.at(0), Floats(3));
  EXPECT_EQ(Read(out), (std::vector<float>{3, 3, 3}));
  EXPECT_EQ(Read(a), (std::vector<float>{1, 1, 1}));
}

TEST(Execute, WritesInPlaceAndLeavesOtherOwnersTheirContent) {
  const ExecutableRef program = AddProgram(3, true);
  Slot a(0, 12, Floats(3)), b(0, 12, Floats(3)), copy(0, 12, Floats(3));
  Fill(a, 1);
  Fill(b, 2);
  ReplaceSlot(copy, ReadSlot(a), Floats(3));  // a second owner forbids donation
  AddInto(*program, a, b);
  EXPECT_EQ(Read(a), (std::vector<float>{3, 3, 3}));
  EXPECT_EQ(Read(copy), (std::vector<float>{1, 1, 1}));
  AddInto(*program, a, b);  // now the only owner: donated
  EXPECT_EQ(Read(a), (std::vector<float>{5, 5, 5}));
}

TEST(Execute, AnOperandUsedTwiceIsNotDonated) {
  const ExecutableRef program = AddProgram(2, true);
  Slot a(0, 8, Floats(2));
  Fill(a, 3);
  AddInto(*program, a, a);
  EXPECT_EQ(Read(a), (std::vector<float>{6, 6}));
}

TEST(Execute, UndefinedContentReadsAsZeros) {
  const ExecutableRef program = AddProgram(2, true);
  Slot a(0, 8, Floats(2)), b(0, 8, Floats(2));
  Fill(b, 4);
  AddInto(*program, a, b);
  EXPECT_EQ(Read(a), (std::vector<float>{4, 4}));
}

TEST(Execute, AChangedTypeIsRefusedAndNothingIsLost) {
  const ExecutableRef program = AddProgram(2, true);
  Slot a(0, 8, Floats(2)), b(0, 8, Floats(2));
  Fill(a, 1);
  Fill(b, 1);
  std::array operands{Operand{}, Operand{}};
  operands[0].slot = &a;
  operands[0].type = Floats(9);
  operands[0].may_donate = true;
  operands[1].buffer = ReadSlot(b);
  const std::array destinations{Destination{&a, a.type}};
  std::vector<BufferRef> results;
  EXPECT_THROW(Execute(*program, 0, operands, destinations, &results), Error);
  EXPECT_EQ(Read(a), (std::vector<float>{1, 1}));
}

TEST(Execute, ThreadsThatAddIntoOneSlotLoseNothing) {
  const ExecutableRef program = AddProgram(1, true);
  Slot sum(0, 4, Floats(1)), one(0, 4, Floats(1));
  Fill(sum, 0);
  Fill(one, 1);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 250; ++i) AddInto(*program, sum, one);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Read(sum), std::vector<float>{1000});
}

TEST(Execute, ThreadsThatAddIntoEachOtherDoNotLockUp) {
  const ExecutableRef program = AddProgram(1, true);
  Slot a(0, 4, Floats(1)), b(0, 4, Floats(1));
  Fill(a, 0);
  Fill(b, 0);
  std::thread forth([&] {
    for (int i = 0; i < 200; ++i) AddInto(*program, a, b);
  });
  for (int i = 0; i < 200; ++i) AddInto(*program, b, a);
  forth.join();
  EXPECT_EQ(Read(a), std::vector<float>{0});
}

TEST(ProgramCache, CompilesATextOnce) {
  const int64_t before = OpenRuntime().programs().compile_count();
  const ExecutableRef first = AddProgram(17, false);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] { EXPECT_EQ(AddProgram(17, false), first); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Runtime::Get().programs().compile_count(), before + 1);
}

TEST(ProgramCache, AFailureIsThrownAndTriedAgain) {
  Runtime& runtime = OpenRuntime();
  const int64_t before = runtime.programs().compile_count();
  for (int i = 0; i < 2; ++i) {
    EXPECT_THROW(runtime.programs().Compile(runtime.client(), "no module", 0), Error);
  }
  EXPECT_EQ(runtime.programs().compile_count(), before);
}

TEST(ScalarCache, SameBitsAreOneBuffer) {
  Runtime& runtime = OpenRuntime();
  const auto get = [&](float value) {
    return runtime.scalars().Get(ScalarBits::Of(DType::kF32, value), 0);
  };
  const BufferRef zero = get(0.0F);
  EXPECT_EQ(get(0.0F), zero);
  EXPECT_NE(get(-0.0F), zero);  // another value: 1/x tells them apart
  runtime.DropCaches();
  EXPECT_NE(get(0.0F), zero);
}

TEST(Memory, CountsWhatIsHeld) {
  MemoryCounter& memory = OpenRuntime().memory(0);
  const int64_t before = memory.allocated();
  {
    Slot a(0, 4096, Floats(1024));
    Fill(a, 1);
    EXPECT_EQ(memory.allocated(), before + 4096);
    EXPECT_GE(memory.peak(), before + 4096);
  }
  EXPECT_EQ(memory.allocated(), before);
}

}  // namespace
}  // namespace tpjrt::exec
