// One generic call into the C API: fills struct_size, checks that the entry point exists in this
// plugin's table, converts the error. It replaces a hand-written wrapper per function.
//
//   auto args = TPJRT_ARGS(PJRT_Client_Devices);
//   args.client = client;
//   TPJRT_CALL(api, PJRT_Client_Devices, args);
#pragma once

#include <pjrt_c_api.h>

#include <cstddef>
#include <string>

#include "base/error.h"

namespace tpjrt::pjrt {

void FreeError(const PJRT_Api* api, PJRT_Error* error) noexcept;
// Frees the error and throws Error with its code and text. `where` is the entry point's name.
[[noreturn]] void ThrowError(const PJRT_Api* api, PJRT_Error* error, const char* where);
// Converts without throwing it; frees the error.
Error TakeError(const PJRT_Api* api, PJRT_Error* error, const char* where);
[[noreturn]] void ThrowMissing(const PJRT_Api* api, const char* where);

template <typename T>
T Args(size_t struct_size) {
  T args{};
  args.struct_size = struct_size;
  return args;
}

template <typename Function, typename ArgsT>
void Call(const PJRT_Api* api, Function PJRT_Api::* member, size_t offset, const char* name,
          ArgsT& args) {
  if (offset + sizeof(void*) > api->struct_size || api->*member == nullptr) [[unlikely]] {
    ThrowMissing(api, name);
  }
  if (PJRT_Error* error = (api->*member)(&args)) [[unlikely]] {
    ThrowError(api, error, name);
  }
}

// For destructors and optional entry points: false when the entry point is missing or fails.
template <typename Function, typename ArgsT>
bool TryCall(const PJRT_Api* api, Function PJRT_Api::* member, size_t offset,
             ArgsT& args) noexcept {
  if (offset + sizeof(void*) > api->struct_size || api->*member == nullptr) return false;
  PJRT_Error* error = (api->*member)(&args);
  if (error == nullptr) return true;
  FreeError(api, error);
  return false;
}

#define TPJRT_HAS(api, fn) \
  (offsetof(PJRT_Api, fn) + sizeof(void*) <= (api)->struct_size && (api)->fn != nullptr)
#define TPJRT_ARGS(fn) ::tpjrt::pjrt::Args<fn##_Args>(fn##_Args_STRUCT_SIZE)
#define TPJRT_CALL(api, fn, args) \
  ::tpjrt::pjrt::Call((api), &PJRT_Api::fn, offsetof(PJRT_Api, fn), #fn, (args))
#define TPJRT_TRY_CALL(api, fn, args) \
  ::tpjrt::pjrt::TryCall((api), &PJRT_Api::fn, offsetof(PJRT_Api, fn), (args))

}  // namespace tpjrt::pjrt
