// The clock by which DistributedDataParallel times its iterations on the device: the host's.
#include <optional>
#include <torch/csrc/distributed/c10d/reducer_timer.hpp>

#include "aten/process_groups.h"
#include "aten/storage.h"

namespace tpjrt::aten {
namespace {

class HostTimer final : public c10d::Timer {
 public:
  std::optional<int64_t> measureDifference(Event start, Event end) override {
    const std::optional<int64_t> from = getTimestamp(start);
    const std::optional<int64_t> to = getTimestamp(end);
    // The end of an earlier iteration means that this one has not come so far.
    if (!from.has_value() || !to.has_value() || *to < *from) return std::nullopt;
    return *to - *from;
  }
};

}  // namespace

void RegisterDdpTimer() {
  c10d::TimerRegistry()->Register(kDevice, [](c10::Device) -> std::unique_ptr<c10d::Timer> {
    return std::make_unique<HostTimer>();
  });
}

}  // namespace tpjrt::aten
