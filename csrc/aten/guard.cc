// The device guard: current device, the one in-order stream of each device, events.
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <atomic>
#include <chrono>
#include <memory>

#include "aten/device.h"
#include "aten/dtypes.h"
#include "aten/errors.h"
#include "aten/register.h"
#include "aten/storage.h"
#include "exec/runtime.h"

namespace tpjrt::aten {
namespace {

// Recording returns at once; the plugin says later when the work before it was done.
struct Event {
  c10::DeviceIndex device = -1;
  std::shared_ptr<const exec::Completion> completion;
};

void Wait(c10::DeviceIndex device) {
  Guarded([&] { exec::Runtime::Get().Synchronize(CheckedDevice(device)); });
}

c10::DeviceIndex IndexOf(c10::Device device) {
  return device.has_index() ? device.index() : static_cast<c10::DeviceIndex>(CurrentDevice());
}

c10::Stream StreamOf(c10::Device device, c10::StreamId id) {
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(kDevice, IndexOf(device)), id);
}

constexpr int kMaxDevices = 64;
thread_local std::array<c10::StreamId, kMaxDevices> current_stream{};

// Streams differ in name only: every device executes in the order of the calls.
class DeviceGuard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return kDevice; }
  c10::Device exchangeDevice(c10::Device device) const override {
    return Guarded([&] {
      const int previous = ExchangeDevice(device.has_index() ? device.index() : CurrentDevice());
      return c10::Device(kDevice, static_cast<c10::DeviceIndex>(previous));
    });
  }
  c10::Device getDevice() const override {
    return {kDevice, static_cast<c10::DeviceIndex>(CurrentDevice())};
  }
  void setDevice(c10::Device device) const override {
    if (device.has_index()) Guarded([&] { SetCurrentDevice(device.index()); });
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    try {
      if (device.has_index()) SetCurrentDevice(device.index());
    } catch (...) {  // NOLINT: the contract is not to throw
    }
  }
  c10::DeviceIndex deviceCount() const noexcept override {
    return static_cast<c10::DeviceIndex>(DeviceCountOrZero());
  }

  c10::DeviceCapability getDeviceCapability(c10::Device /*device*/) const override {
    c10::DeviceCapability capability;
    uint64_t bits = 0;
    for (size_t i = 0; i < c10::NUMBER_OF_DEVICE_CAPABILITIES; ++i) {
      if (HasDType(static_cast<c10::ScalarType>(i))) bits |= uint64_t{1} << i;
    }
    capability.capability_data.capability_bits = bits;
    return capability;
  }

  c10::Stream getStream(c10::Device device) const override {
    return StreamOf(device, current_stream.at(static_cast<size_t>(IndexOf(device))));
  }
  c10::Stream getDefaultStream(c10::Device device) const override { return StreamOf(device, 0); }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool /*high*/) const override {
    return getNewStream(device, 0);
  }
  c10::Stream getNewStream(c10::Device device, int /*priority*/) const override {
    static std::atomic<c10::StreamId> next{1};
    return StreamOf(device, next++);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    auto& current = current_stream.at(static_cast<size_t>(IndexOf(stream.device())));
    return StreamOf(stream.device(), std::exchange(current, stream.id()));
  }
  bool queryStream(const c10::Stream& stream) const override {
    return Guarded(
        [&] { return exec::Runtime::Get().IsIdle(CheckedDevice(stream.device_index())); });
  }
  void synchronizeStream(const c10::Stream& stream) const override { Wait(stream.device_index()); }
  void synchronizeDevice(const c10::DeviceIndex device) const override { Wait(device); }

  void record(void** event, const c10::Stream& stream, const c10::DeviceIndex device,
              const c10::EventFlag /*flag*/) const override {
    TORCH_CHECK(device == -1 || device == stream.device_index(), "Event device index ", device,
                " does not match recording stream's device index ", stream.device_index());
    Guarded([&] {
      const int index = CheckedDevice(stream.device_index());
      if (*event == nullptr) *event = new Event();
      *static_cast<Event*>(*event) = {stream.device_index(), exec::Runtime::Get().Record(index)};
    });
  }
  // Nothing to order: a program starts when its arguments exist, on whichever stream.
  void block(void* /*event*/, const c10::Stream& /*stream*/) const override {}
  bool queryEvent(void* event) const override {
    return event == nullptr || static_cast<Event*>(event)->completion->done();
  }
  void synchronizeEvent(void* event) const override {
    if (event == nullptr) return;
    const Event recorded = *static_cast<Event*>(event);
    Guarded([&] {
      recorded.completion->Wait();
      exec::Runtime& runtime = exec::Runtime::Get();
      if (runtime.is_open()) runtime.faults(recorded.device).Raise();
    });
  }
  void destroyEvent(void* event, const c10::DeviceIndex /*device*/) const noexcept override {
    delete static_cast<Event*>(event);
  }
  // Milliseconds between the moments at which the work before each event was done.
  double elapsedTime(void* start, void* end, const c10::DeviceIndex /*device*/) const override {
    TORCH_CHECK(start != nullptr && end != nullptr,
                "Both events must be recorded before calculating elapsed time.");
    const auto& first = *static_cast<Event*>(start)->completion;
    const auto& last = *static_cast<Event*>(end)->completion;
    TORCH_CHECK(first.done() && last.done(),
                "Both events must be completed before calculating elapsed time.");
    return std::chrono::duration<double, std::milli>(last.time() - first.time()).count();
  }
};

}  // namespace

void RegisterGuard() {
  static const auto* guard = new DeviceGuard();
  c10::impl::device_guard_impl_registry[static_cast<size_t>(kDevice)].store(guard);
}

}  // namespace tpjrt::aten
