// Which device the calling thread uses, and what is known about the devices.
#pragma once

#include <c10/core/Device.h>

#include <cstddef>
#include <utility>

namespace tpjrt::aten {

// Devices without opening the client, where the configuration knows; -1 where the client must say.
void SetStaticDeviceCount(int count);
int DeviceCount();                 // throws when the client cannot be opened
int DeviceCountOrZero() noexcept;  // for callers that must not throw

int CurrentDevice();             // of this thread
int ExchangeDevice(int device);  // returns the previous; throws for a bad index
void SetCurrentDevice(int device);
int CheckedDevice(int device);  // -1 means the current one; throws for a bad index

// (free, total) bytes: the plugin's numbers, or the host's for a plugin whose memory is the host's.
std::pair<size_t, size_t> MemoryInfo(int device);

}  // namespace tpjrt::aten
