// A PJRT client: the devices of one plugin, compilation and host-to-device copies.
//
// Created once per process by exec::Runtime. All methods are thread-safe. Everything made from a
// client must be destroyed before it.
#pragma once

#include <pjrt_c_api.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pjrt/buffer.h"
#include "pjrt/executable.h"
#include "pjrt/plugin.h"

namespace tpjrt::pjrt {

struct ClientOption {
  std::string name;
  std::variant<std::string, int64_t, bool, float> value;
};

struct DeviceInfo {
  int id = 0;  // the plugin's own id
  std::string kind;
  std::string debug_string;
};

struct MemoryStats {
  int64_t bytes_in_use = 0;
  int64_t peak_bytes = 0;
  int64_t bytes_limit = 0;
};

class Client {
 public:
  // Throws Error (with the plugin's path and the plugin's text) when the client cannot be made.
  // Options the plugin says it does not know are dropped. `visible` lists which of the plugin's
  // devices this client has, in its order; empty means all.
  static std::unique_ptr<Client> Create(const Plugin& plugin,
                                        std::vector<ClientOption> options = {},
                                        const std::vector<int>& visible = {});
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  const Plugin& plugin() const { return plugin_; }
  const PJRT_Api* api() const { return plugin_.api(); }
  PJRT_Client* handle() const { return client_; }
  const std::string& platform_name() const { return platform_name_; }  // "cpu", "tpu", "cuda", ...
  const std::string& platform_version() const { return platform_version_; }
  // What every program is compiled with; part of a compiled program's identity.
  const std::string& compile_options() const { return compile_options_; }
  // Device memory is host memory: values can be read in place.
  bool host_memory() const { return platform_name_ == "cpu"; }

  int num_devices() const { return static_cast<int>(devices_.size()); }
  const DeviceInfo& device_info(int device) const { return infos_[Checked(device)]; }
  PJRT_Device* device_handle(int device) const { return devices_[Checked(device)]; }
  int device_index(const PJRT_Device* device) const;  // throws for a device of another client

  // Compiles StableHLO text, blocking; throws with the compiler's message. `num_parameters` is what
  // main takes. The program is portable: one compile serves all devices.
  std::unique_ptr<Executable> Compile(std::string_view stablehlo, int num_parameters) const;
  std::unique_ptr<Executable> Deserialize(std::string_view blob, int num_parameters) const;

  // Copies host bytes (row-major, dense) to `device`. The host memory may be reused on return.
  Buffer FromHost(const void* data, DType dtype, std::span<const int64_t> dims, int device) const;

  // False when the plugin does not report.
  bool GetMemoryStats(int device, MemoryStats* stats) const;

 private:
  Client(const Plugin& plugin, PJRT_Client* client);
  size_t Checked(int device) const {
    Require(device >= 0 && device < num_devices(), "device ", device, " does not exist; there are ",
            num_devices());
    return static_cast<size_t>(device);
  }
  void ReadPlatform();
  void ReadDevices(const std::vector<int>& visible);
  const Plugin& plugin_;
  PJRT_Client* client_;
  std::string platform_name_;
  std::string platform_version_;
  std::string compile_options_;
  std::vector<PJRT_Device*> devices_;
  std::vector<DeviceInfo> infos_;
};

}  // namespace tpjrt::pjrt
