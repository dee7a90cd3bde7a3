#include "exec/fault_log.h"

#include <array>
#include <string_view>
#include <utility>

#include "lower/value_fault.h"

namespace tpjrt::exec {
namespace {

// In the words of PyTorch's CPU kernels.
std::string_view Describe(lower::ValueFault fault) {
  switch (fault) {
    case lower::ValueFault::kDivisionByZero:
      return "ZeroDivisionError: an integer was divided by 0";
    case lower::ValueFault::kProbability:
      return "a probability is not between 0 and 1";
    case lower::ValueFault::kDistribution:
      return "probability tensor contains either `inf`, `nan` or element < 0";
    case lower::ValueFault::kEmptyDistribution:
      return "invalid multinomial distribution (sum of probabilities <= 0)";
    case lower::ValueFault::kDeviation:
      return "normal expects all elements of std >= 0.0";
  }
  return "an invalid value";
}

}  // namespace

void FaultLog::Read(const Entry& entry) {
  std::array<int64_t, 3> report{};
  Check(entry.report->buffer().nbytes() == sizeof(report), "a fault report has three words");
  entry.report->buffer().CopyToHost(report.data());
  if (report[1] == 0 || !found_.empty()) return;
  if (report[1] < 0) {
    found_ = StrCat(entry.op[report[2]], ": ", Describe(static_cast<lower::ValueFault>(report[1])));
    code_ = ErrorCode::kInvalidArgument;
    return;
  }
  code_ = ErrorCode::kOutOfRange;
  const int64_t size = report[1] - 1;
  found_ = StrCat(entry.op[report[2]], ": index ", report[0],
                  " is out of bounds for a dimension of size ", size,
                  " (reads of it gave NaN or 0, writes were dropped)");
}

void FaultLog::Add(BufferRef report, const std::string* op) {
  const std::lock_guard lock(mutex_);
  pending_.push_back({std::move(report), op});
  if (pending_.size() <= kCapacity) return;
  Read(pending_.front());
  pending_.pop_front();
}

void FaultLog::Raise() {
  const std::lock_guard lock(mutex_);
  while (!pending_.empty()) {
    const Entry entry = std::move(pending_.front());
    pending_.pop_front();
    Read(entry);
  }
  if (found_.empty()) return;
  throw Error(code_, std::exchange(found_, {}));
}

}  // namespace tpjrt::exec
