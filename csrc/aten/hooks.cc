// What PyTorch asks a device for: generators, pinned memory, availability.
#include <ATen/detail/PrivateUse1HooksInterface.h>

#include "aten/device.h"
#include "aten/errors.h"
#include "aten/generator.h"
#include "aten/pinned.h"
#include "aten/register.h"
#include "aten/storage.h"
#include "aten/storage_resize.h"
#include "exec/runtime.h"

namespace tpjrt::aten {
namespace {

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return DeviceCountOrZero() > 0; }
  bool hasPrimaryContext(c10::DeviceIndex device) const override {
    return exec::Runtime::Get().is_open() && device < DeviceCountOrZero();
  }
  void init() const override {
    Guarded([] { exec::Runtime::Get().client(); });
  }
  c10::DeviceIndex deviceCount() const override {
    return static_cast<c10::DeviceIndex>(DeviceCountOrZero());
  }
  void setCurrentDevice(c10::DeviceIndex device) const override {
    Guarded([&] { SetCurrentDevice(device); });
  }
  c10::DeviceIndex getCurrentDevice() const override {
    return static_cast<c10::DeviceIndex>(CurrentDevice());
  }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
    return Guarded([&] { return static_cast<c10::DeviceIndex>(ExchangeDevice(device)); });
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override {
    return device < 0 ? getCurrentDevice() : exchangeDevice(device);
  }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex device) const override {
    return Guarded([&]() -> const at::Generator& { return DefaultGenerator(device); });
  }
  at::Generator getNewGenerator(c10::DeviceIndex device) const override {
    return Guarded([&] { return NewGenerator(device); });
  }
  at::Device getDeviceFromPtr(void* /*data*/) const override {
    return {kDevice, static_cast<c10::DeviceIndex>(CurrentDevice())};
  }
  bool isPinnedPtr(const void* data) const override { return IsPinned(data); }
  at::Allocator* getPinnedMemoryAllocator() const override { return PinnedAllocator(); }
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t nbytes) const override {
    Guarded([&] { ResizeStorage(storage.unsafeGetStorageImpl(), static_cast<int64_t>(nbytes)); });
  }
};

}  // namespace

void RegisterHooks() { at::RegisterPrivateUse1HooksInterface(new Hooks()); }

}  // namespace tpjrt::aten
