#include "exec/fault_log.h"

#include <array>
#include <utility>

#include "base/error.h"

namespace tpjrt::exec {

void FaultLog::Read(const Entry& entry) {
  std::array<int64_t, 2> report{};
  Check(entry.report->buffer().nbytes() == sizeof(report), "a fault report has two words");
  entry.report->buffer().CopyToHost(report.data());
  if (report[1] == 0 || !found_.empty()) return;
  const int64_t size = report[1] - 1;
  found_ = StrCat(*entry.op, ": index ", report[0], " is out of bounds for a dimension of size ",
                  size, " (reads of it gave NaN or 0, writes were dropped)");
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
  throw Error(ErrorCode::kOutOfRange, std::exchange(found_, {}));
}

}  // namespace tpjrt::exec
