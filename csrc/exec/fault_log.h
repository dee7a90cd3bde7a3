// Faults that programs report about run-time data (an index out of range, an integer divided by 0):
// remembered per device and raised once, at the host's next wait for it.
//
// Reports are read only then, so an operation costs one small output and no transfer. Thread-safe.
#pragma once

#include <deque>
#include <mutex>
#include <string>

#include "base/error.h"
#include "exec/device_buffer.h"

namespace tpjrt::exec {

class FaultLog {
 public:
  // `report` is i64[3]: {index, size + 1, node} or {0, a lower::ValueFault, node}; the second is 0
  // when all went well. `op`: the names of the program's nodes; they outlive the log.
  void Add(BufferRef report, const std::string* op);
  // Reads all reports; throws kOutOfRange (an index) or kInvalidArgument (a value) for the first
  // fault and forgets the rest.
  void Raise();

 private:
  struct Entry {
    BufferRef report;
    const std::string* op;
  };
  // A report past this many is read when it is added: memory stays bounded.
  static constexpr size_t kCapacity = 4096;

  void Read(const Entry& entry);

  std::mutex mutex_;
  std::deque<Entry> pending_;
  std::string found_;  // the first fault among reports already read
  ErrorCode code_ = ErrorCode::kOutOfRange;
};

}  // namespace tpjrt::exec
