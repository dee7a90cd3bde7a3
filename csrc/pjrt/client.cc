#include "pjrt/client.h"

#include <algorithm>
#include <utility>

#include "pjrt/call.h"
#include "pjrt/compile_options.h"
#include "pjrt/fork.h"

namespace tpjrt::pjrt {
namespace {

constexpr std::string_view kFormat = "mlir";

PJRT_NamedValue ToNamedValue(const ClientOption& option) {
  auto named = Args<PJRT_NamedValue>(PJRT_NamedValue_STRUCT_SIZE);
  named.name = option.name.data();
  named.name_size = option.name.size();
  named.value_size = 1;
  if (const auto* text = std::get_if<std::string>(&option.value)) {
    named.type = PJRT_NamedValue_kString;
    named.string_value = text->data();
    named.value_size = text->size();
  } else if (const auto* number = std::get_if<int64_t>(&option.value)) {
    named.type = PJRT_NamedValue_kInt64;
    named.int64_value = *number;
  } else if (const auto* flag = std::get_if<bool>(&option.value)) {
    named.type = PJRT_NamedValue_kBool;
    named.bool_value = *flag;
  } else {
    named.type = PJRT_NamedValue_kFloat;
    named.float_value = std::get<float>(option.value);
  }
  return named;
}

PJRT_Client* CreateHandle(const PJRT_Api* api, const std::vector<ClientOption>& options) {
  std::vector<PJRT_NamedValue> named;
  for (const ClientOption& option : options) named.push_back(ToNamedValue(option));
  auto args = TPJRT_ARGS(PJRT_Client_Create);
  args.create_options = named.data();
  args.num_options = named.size();
  TPJRT_CALL(api, PJRT_Client_Create, args);
  return args.client;
}

// The option that the error's text rejects as unknown ("Unexpected option name passed to
// PJRT_Client_Create: NAME"); a known option with a bad value is the caller's error.
auto FindUnknown(std::vector<ClientOption>& options, const Error& error) {
  const std::string_view text = error.what();
  const bool unknown = text.find("nexpected option") != text.npos ||
                       text.find("nknown option") != text.npos ||
                       text.find("nrecognized option") != text.npos;
  if (!unknown) return options.end();
  return std::find_if(options.begin(), options.end(), [&](const ClientOption& option) {
    return text.find(option.name) != text.npos;
  });
}

}  // namespace

std::unique_ptr<Client> Client::Create(const Plugin& plugin, std::vector<ClientOption> options,
                                       const std::vector<int>& visible) {
  RequireNotForked("opening the device");
  WatchForks();
  while (true) {
    try {
      std::unique_ptr<Client> client(new Client(plugin, CreateHandle(plugin.api(), options)));
      client->ReadPlatform();
      client->ReadDevices(visible);
      return client;
    } catch (const Error& error) {
      const auto unknown = FindUnknown(options, error);
      if (unknown == options.end()) {
        throw Error(error.code(), StrCat("PJRT plugin \"", plugin.path(),
                                         "\": no client could be made: ", error.what()));
      }
      options.erase(unknown);
    }
  }
}

Client::Client(const Plugin& plugin, PJRT_Client* client) : plugin_(plugin), client_(client) {}

Client::~Client() {
  if (InForkedChild()) return;
  auto args = TPJRT_ARGS(PJRT_Client_Destroy);
  args.client = client_;
  TPJRT_TRY_CALL(api(), PJRT_Client_Destroy, args);
}

void Client::ReadPlatform() {
  auto name = TPJRT_ARGS(PJRT_Client_PlatformName);
  name.client = client_;
  TPJRT_CALL(api(), PJRT_Client_PlatformName, name);
  platform_name_.assign(name.platform_name, name.platform_name_size);
  auto version = TPJRT_ARGS(PJRT_Client_PlatformVersion);
  version.client = client_;
  TPJRT_CALL(api(), PJRT_Client_PlatformVersion, version);
  platform_version_.assign(version.platform_version, version.platform_version_size);
  compile_options_ = EncodeCompileOptions(platform_name_);
}

void Client::ReadDevices(const std::vector<int>& visible) {
  auto list = TPJRT_ARGS(PJRT_Client_AddressableDevices);
  list.client = client_;
  TPJRT_CALL(api(), PJRT_Client_AddressableDevices, list);
  const std::span<PJRT_Device* const> all(list.addressable_devices, list.num_addressable_devices);
  devices_.assign(all.begin(), all.end());
  if (!visible.empty()) devices_.clear();
  for (const int device : visible) {
    Require(device >= 0 && static_cast<size_t>(device) < all.size(), "visible device ", device,
            " does not exist: the plugin has ", all.size(), " devices, from 0");
    devices_.push_back(all[static_cast<size_t>(device)]);
  }
  for (PJRT_Device* device : devices_) {
    auto get = TPJRT_ARGS(PJRT_Device_GetDescription);
    get.device = device;
    TPJRT_CALL(api(), PJRT_Device_GetDescription, get);
    auto id = TPJRT_ARGS(PJRT_DeviceDescription_Id);
    id.device_description = get.device_description;
    TPJRT_CALL(api(), PJRT_DeviceDescription_Id, id);
    auto kind = TPJRT_ARGS(PJRT_DeviceDescription_Kind);
    kind.device_description = get.device_description;
    TPJRT_CALL(api(), PJRT_DeviceDescription_Kind, kind);
    auto debug = TPJRT_ARGS(PJRT_DeviceDescription_DebugString);
    debug.device_description = get.device_description;
    TPJRT_CALL(api(), PJRT_DeviceDescription_DebugString, debug);
    infos_.push_back({id.id, std::string(kind.device_kind, kind.device_kind_size),
                      std::string(debug.debug_string, debug.debug_string_size)});
  }
}

int Client::device_index(const PJRT_Device* device) const {
  const auto found = std::find(devices_.begin(), devices_.end(), device);
  Check(found != devices_.end(), "a buffer lies on a device that this process does not own");
  return static_cast<int>(found - devices_.begin());
}

std::unique_ptr<Executable> Client::Compile(std::string_view stablehlo, int num_parameters) const {
  RequireNotForked("compiling a program");
  auto program = Args<PJRT_Program>(PJRT_Program_STRUCT_SIZE);
  program.code = const_cast<char*>(stablehlo.data());  // in/out in the C API; in here
  program.code_size = stablehlo.size();
  program.format = kFormat.data();
  program.format_size = kFormat.size();
  auto args = TPJRT_ARGS(PJRT_Client_Compile);
  args.client = client_;
  args.program = &program;
  args.compile_options = compile_options_.data();
  args.compile_options_size = compile_options_.size();
  TPJRT_CALL(api(), PJRT_Client_Compile, args);
  return std::make_unique<Executable>(this, args.executable, num_parameters);
}

std::unique_ptr<Executable> Client::Deserialize(std::string_view blob, int num_parameters) const {
  RequireNotForked("loading a program");
  auto args = TPJRT_ARGS(PJRT_Executable_DeserializeAndLoad);
  args.client = client_;
  args.serialized_executable = blob.data();
  args.serialized_executable_size = blob.size();
  TPJRT_CALL(api(), PJRT_Executable_DeserializeAndLoad, args);
  return std::make_unique<Executable>(this, args.loaded_executable, num_parameters);
}

Buffer Client::FromHost(const void* data, DType dtype, std::span<const int64_t> dims,
                        int device) const {
  RequireNotForked("copying to the device");
  static constexpr char kNothing = 0;  // an array without elements may come without an address
  Require(data != nullptr || std::find(dims.begin(), dims.end(), 0) != dims.end(),
          "FromHost: no address was given for an array with elements");
  auto args = TPJRT_ARGS(PJRT_Client_BufferFromHostBuffer);
  args.client = client_;
  args.data = data == nullptr ? &kNothing : data;
  args.type = ToPjrt(dtype);
  args.dims = dims.data();
  args.num_dims = dims.size();
  args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  args.device = device_handle(device);
  TPJRT_CALL(api(), PJRT_Client_BufferFromHostBuffer, args);
  const Event done(api(), args.done_with_host_buffer);
  return Buffer(this, args.buffer, dtype, std::vector<int64_t>(dims.begin(), dims.end()), device);
}

bool Client::GetMemoryStats(int device, MemoryStats* stats) const {
  RequireNotForked("reading memory statistics");
  auto args = TPJRT_ARGS(PJRT_Device_MemoryStats);
  args.device = device_handle(device);
  if (!TPJRT_TRY_CALL(api(), PJRT_Device_MemoryStats, args)) return false;
  stats->bytes_in_use = args.bytes_in_use;
  stats->peak_bytes = args.peak_bytes_in_use_is_set ? args.peak_bytes_in_use : 0;
  stats->bytes_limit = args.bytes_limit_is_set ? args.bytes_limit : 0;
  return true;
}

}  // namespace tpjrt::pjrt
