// A PJRT plugin for tests: forwards to the plugin named by TPJRT_PROXY_TARGET and counts the calls
// that tests ask about: who read device memory from the host, how often was a program run.
//
// The real table may be longer than the header's, so its bytes are copied and entries replaced. An
// entry that the header does not know counts as a read: it might be one. Extensions are cut off,
// since some hand out raw buffers. The C functions at the end are meant for ctypes. Thread-safe.
#include <dlfcn.h>
#include <pjrt_c_api.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace {

enum Counter {
  // Reads: host code can learn a device value by these.
  kToHostBuffer,
  kCopyRawToHost,
  kUnsafePointer,
  kOpaquePointer,
  kExternalReference,
  kSendCallback,
  kUnknownEntry,
  kLastRead = kUnknownEntry,
  // The host can watch the memory of these buffers without a further call.
  kZeroCopyUpload,
  kViewOfMemory,
  kUpload,
  kAsyncUpload,
  kDeviceCopy,
  kExecute,
  kCompile,
  kDeserialize,
  kNumCounters,
};

constexpr const char* kNames[kNumCounters] = {
    "to_host_buffer",
    "copy_raw_to_host",
    "unsafe_pointer",
    "opaque_pointer",
    "external_reference",
    "send_callback",
    "unknown_entry",
    "zero_copy_upload",
    "view_of_memory",
    "upload",
    "async_upload",
    "device_copy",
    "execute",
    "compile",
    "deserialize",
};

constexpr size_t kMaxUnknown = 128;

std::array<std::atomic<uint64_t>, kNumCounters> counts;
const PJRT_Api* real = nullptr;
std::array<void* (*)(void*), kMaxUnknown> unknown_entries;

void Count(Counter counter) { counts[counter].fetch_add(1, std::memory_order_relaxed); }

template <Counter kCounter, auto kMember, typename ArgsT>
PJRT_Error* Counted(ArgsT* args) {
  Count(kCounter);
  return (real->*kMember)(args);
}

PJRT_Error* Upload(PJRT_Client_BufferFromHostBuffer_Args* args) {
  const auto semantics = args->host_buffer_semantics;
  const bool shared = semantics == PJRT_HostBufferSemantics_kImmutableZeroCopy ||
                      semantics == PJRT_HostBufferSemantics_kMutableZeroCopy;
  Count(shared ? kZeroCopyUpload : kUpload);
  return real->PJRT_Client_BufferFromHostBuffer(args);
}

PJRT_Error* Execute(PJRT_LoadedExecutable_Execute_Args* args) {
  Count(kExecute);
  if (args->options != nullptr && args->options->num_send_ops > 0) Count(kSendCallback);
  return real->PJRT_LoadedExecutable_Execute(args);
}

PJRT_Error* PlatformName(PJRT_Client_PlatformName_Args* args) {
  const char* claimed = std::getenv("TPJRT_PROXY_PLATFORM");
  if (claimed == nullptr) return real->PJRT_Client_PlatformName(args);
  static const auto* name = new std::string(claimed);
  args->platform_name = name->data();
  args->platform_name_size = name->size();
  return nullptr;
}

template <size_t kIndex>
void* Unknown(void* args) {
  Count(kUnknownEntry);
  return unknown_entries[kIndex](args);
}

template <size_t... kIndex>
constexpr auto UnknownForwarders(std::index_sequence<kIndex...>) {
  return std::array<void* (*)(void*), sizeof...(kIndex)>{&Unknown<kIndex>...};
}

const PJRT_Api* Refuse(const char* text) {
  std::fprintf(stderr, "tpjrt proxy plugin: %s\n", text);
  return nullptr;
}

const PJRT_Api* OpenTarget() {
  const char* target = std::getenv("TPJRT_PROXY_TARGET");
  if (target == nullptr) return Refuse("TPJRT_PROXY_TARGET is not set");
  void* library = dlopen(target, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Refuse(dlerror());
  auto get = reinterpret_cast<const PJRT_Api* (*)()>(dlsym(library, "GetPjrtApi"));
  return get == nullptr ? Refuse("the target is not a PJRT plugin") : get();
}

template <typename Function>
void Replace(Function& entry, size_t offset, Function replacement) {
  if (offset + sizeof(void*) <= real->struct_size && entry != nullptr) entry = replacement;
}

#define REPLACE(api, fn, replacement) Replace((api)->fn, offsetof(PJRT_Api, fn), (replacement))
#define COUNT(api, fn, counter) REPLACE(api, fn, (&Counted<counter, &PJRT_Api::fn, fn##_Args>))

void CountKnown(PJRT_Api* api) {
  COUNT(api, PJRT_Buffer_ToHostBuffer, kToHostBuffer);
  COUNT(api, PJRT_Buffer_CopyRawToHost, kCopyRawToHost);
  COUNT(api, PJRT_Buffer_UnsafePointer, kUnsafePointer);
  COUNT(api, PJRT_Buffer_OpaqueDeviceMemoryDataPointer, kOpaquePointer);
  COUNT(api, PJRT_Buffer_IncreaseExternalReferenceCount, kExternalReference);
  COUNT(api, PJRT_Client_CreateViewOfDeviceBuffer, kViewOfMemory);
  COUNT(api, PJRT_AsyncHostToDeviceTransferManager_TransferData, kAsyncUpload);
  COUNT(api, PJRT_Buffer_CopyToDevice, kDeviceCopy);
  COUNT(api, PJRT_Buffer_CopyToMemory, kDeviceCopy);
  COUNT(api, PJRT_Client_Compile, kCompile);
  COUNT(api, PJRT_Executable_DeserializeAndLoad, kDeserialize);
  REPLACE(api, PJRT_Client_BufferFromHostBuffer, &Upload);
  REPLACE(api, PJRT_LoadedExecutable_Execute, &Execute);
  REPLACE(api, PJRT_Client_PlatformName, &PlatformName);
  // A plugin that cannot serialize its programs.
  if (std::getenv("TPJRT_PROXY_NO_SERIALIZE") != nullptr) api->PJRT_Executable_Serialize = nullptr;
}

// False when there are more entries than forwarders.
bool CountUnknown(char* table) {
  constexpr auto kForwarders = UnknownForwarders(std::make_index_sequence<kMaxUnknown>());
  size_t index = 0;
  for (size_t at = PJRT_Api_STRUCT_SIZE; at + sizeof(void*) <= real->struct_size;
       at += sizeof(void*), ++index) {
    if (index == kMaxUnknown) return false;
    void* entry = nullptr;
    std::memcpy(&entry, table + at, sizeof(entry));
    if (entry == nullptr) continue;
    unknown_entries[index] = reinterpret_cast<void* (*)(void*)>(entry);
    auto forwarder = kForwarders[index];
    std::memcpy(table + at, &forwarder, sizeof(forwarder));
  }
  return true;
}

const PJRT_Api* MakeTable() {
  real = OpenTarget();
  if (real == nullptr) return nullptr;
  // Never freed: the caller keeps it for the life of the process.
  const size_t bytes = real->struct_size > sizeof(PJRT_Api) ? real->struct_size : sizeof(PJRT_Api);
  auto* table = static_cast<char*>(std::calloc(1, bytes));
  if (table == nullptr) return Refuse("out of memory");
  std::memcpy(table, real, real->struct_size);
  auto* api = reinterpret_cast<PJRT_Api*>(table);
  api->extension_start = nullptr;
  CountKnown(api);
  if (!CountUnknown(table)) return Refuse("the target's table is longer than this proxy can count");
  return api;
}

}  // namespace

extern "C" {
#define TPJRT_EXPORT __attribute__((visibility("default")))

TPJRT_EXPORT const PJRT_Api* GetPjrtApi() {
  static const PJRT_Api* api = MakeTable();
  return api;
}

// Writes the first n counters and returns how many there are.
TPJRT_EXPORT int tpjrt_proxy_counts(uint64_t* out, int n) {
  for (int i = 0; i < n && i < kNumCounters; ++i) out[i] = counts[static_cast<size_t>(i)].load();
  return kNumCounters;
}

TPJRT_EXPORT void tpjrt_proxy_reset() {
  for (auto& count : counts) count.store(0);
}

// The name of counter i, null past the end.
TPJRT_EXPORT const char* tpjrt_proxy_name(int i) {
  return i >= 0 && i < kNumCounters ? kNames[i] : nullptr;
}

// Calls by which the host can have read device memory.
TPJRT_EXPORT uint64_t tpjrt_proxy_reads() {
  uint64_t sum = 0;
  for (int i = 0; i <= kLastRead; ++i) sum += counts[static_cast<size_t>(i)].load();
  return sum;
}
}
