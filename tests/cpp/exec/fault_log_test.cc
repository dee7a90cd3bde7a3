// Faults found by programs are raised once, with the op, the index and the size.
#include "exec/fault_log.h"

#include <gtest/gtest.h>

#include <array>

#include "base/error.h"
#include "exec/runtime.h"
#include "lower/value_fault.h"
#include "plugins_under_test.h"

namespace tpjrt::exec {
namespace {

const std::string kOp = "aten::index.Tensor";

BufferRef Report(int64_t index, int64_t limit, int64_t node = 0) {
  Runtime& runtime = Runtime::Get();
  runtime.SetConfigProvider([] { return RuntimeConfig{test::PluginPaths().at(0), {}, {}}; });
  runtime.client();
  const std::array words{index, limit, node};
  const int64_t dims[] = {3};
  return runtime.Upload(words.data(), *InternType(DType::kI64, dims), 0);
}

TEST(FaultLog, RaisesTheFirstFaultOnce) {
  FaultLog log;
  log.Add(Report(0, 0), &kOp);
  log.Add(Report(7, 6), &kOp);
  log.Add(Report(9, 4), &kOp);
  try {
    log.Raise();
    FAIL() << "the fault was not raised";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOutOfRange);
    const std::string text = error.what();
    EXPECT_NE(text.find("aten::index.Tensor: index 7 is out of bounds for a dimension of size 5"),
              std::string::npos)
        << text;
  }
  EXPECT_NO_THROW(log.Raise());
}

TEST(FaultLog, NamesTheNodeThatFoundTheFault) {
  FaultLog log;
  const std::array<std::string, 2> names{"gather", "embedding at m.py:7"};
  log.Add(Report(7, 6, 1), names.data());
  try {
    log.Raise();
    FAIL() << "the fault was not raised";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("embedding at m.py:7: index 7 is out"), 0U)
        << error.what();
  }
}

TEST(FaultLog, KeepsAFaultWhoseReportWasReadToMakeRoom) {
  FaultLog log;
  log.Add(Report(3, 1), &kOp);
  const BufferRef fine = Report(0, 0);
  for (int i = 0; i < 5000; ++i) log.Add(fine, &kOp);
  EXPECT_THROW(log.Raise(), Error);
  EXPECT_NO_THROW(log.Raise());
}

TEST(FaultLog, ValuesAreFaultsToo) {
  FaultLog log;
  log.Add(Report(0, static_cast<int64_t>(lower::ValueFault::kDivisionByZero)), &kOp);
  log.Add(Report(7, 6), &kOp);
  try {
    log.Raise();
    FAIL() << "the fault was not raised";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("ZeroDivisionError"), std::string::npos);
  }
  EXPECT_NO_THROW(log.Raise());
}

}  // namespace
}  // namespace tpjrt::exec
