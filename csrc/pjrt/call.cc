#include "pjrt/call.h"

#include <string_view>

namespace tpjrt::pjrt {
namespace {

struct CodeInfo {
  PJRT_Error_Code pjrt;
  ErrorCode code;
  std::string_view name;
};

constexpr CodeInfo kCodes[] = {
    {PJRT_Error_Code_CANCELLED, ErrorCode::kFailedPrecondition, "CANCELLED"},
    {PJRT_Error_Code_INVALID_ARGUMENT, ErrorCode::kInvalidArgument, "INVALID_ARGUMENT"},
    {PJRT_Error_Code_DEADLINE_EXCEEDED, ErrorCode::kFailedPrecondition, "DEADLINE_EXCEEDED"},
    {PJRT_Error_Code_NOT_FOUND, ErrorCode::kNotFound, "NOT_FOUND"},
    {PJRT_Error_Code_ALREADY_EXISTS, ErrorCode::kFailedPrecondition, "ALREADY_EXISTS"},
    {PJRT_Error_Code_PERMISSION_DENIED, ErrorCode::kFailedPrecondition, "PERMISSION_DENIED"},
    {PJRT_Error_Code_RESOURCE_EXHAUSTED, ErrorCode::kResourceExhausted, "RESOURCE_EXHAUSTED"},
    {PJRT_Error_Code_FAILED_PRECONDITION, ErrorCode::kFailedPrecondition, "FAILED_PRECONDITION"},
    {PJRT_Error_Code_ABORTED, ErrorCode::kFailedPrecondition, "ABORTED"},
    {PJRT_Error_Code_OUT_OF_RANGE, ErrorCode::kInvalidArgument, "OUT_OF_RANGE"},
    {PJRT_Error_Code_UNIMPLEMENTED, ErrorCode::kUnimplemented, "UNIMPLEMENTED"},
    {PJRT_Error_Code_UNAVAILABLE, ErrorCode::kFailedPrecondition, "UNAVAILABLE"},
    {PJRT_Error_Code_UNAUTHENTICATED, ErrorCode::kFailedPrecondition, "UNAUTHENTICATED"},
    {PJRT_Error_Code_INTERNAL, ErrorCode::kInternal, "INTERNAL"},
    {PJRT_Error_Code_DATA_LOSS, ErrorCode::kInternal, "DATA_LOSS"},
    {PJRT_Error_Code_UNKNOWN, ErrorCode::kInternal, "UNKNOWN"},
};

CodeInfo InfoOf(PJRT_Error_Code code) {
  for (const CodeInfo& info : kCodes) {
    if (info.pjrt == code) return info;
  }
  return {code, ErrorCode::kInternal, "UNKNOWN"};
}

CodeInfo CodeOf(const PJRT_Api* api, const PJRT_Error* error) {
  auto args = TPJRT_ARGS(PJRT_Error_GetCode);
  args.error = error;
  if (PJRT_Error* nested = api->PJRT_Error_GetCode(&args)) {
    FreeError(api, nested);
    return InfoOf(PJRT_Error_Code_UNKNOWN);
  }
  return InfoOf(args.code);
}

}  // namespace

void FreeError(const PJRT_Api* api, PJRT_Error* error) noexcept {
  if (error == nullptr) return;
  auto args = TPJRT_ARGS(PJRT_Error_Destroy);
  args.error = error;
  api->PJRT_Error_Destroy(&args);
}

Error TakeError(const PJRT_Api* api, PJRT_Error* error, const char* where) {
  struct Guard {
    const PJRT_Api* api;
    PJRT_Error* error;
    ~Guard() { FreeError(api, error); }
  } guard{api, error};
  auto args = TPJRT_ARGS(PJRT_Error_Message);
  args.error = error;
  api->PJRT_Error_Message(&args);
  const CodeInfo info = CodeOf(api, error);
  return Error(info.code, StrCat(where, ": ", info.name, ": ",
                                 std::string_view(args.message, args.message_size)));
}

void ThrowError(const PJRT_Api* api, PJRT_Error* error, const char* where) {
  throw TakeError(api, error, where);
}

void ThrowMissing(const PJRT_Api* api, const char* where) {
  Fail(ErrorCode::kUnimplemented, where, ": this plugin's PJRT API ",
       api->pjrt_api_version.major_version, ".", api->pjrt_api_version.minor_version,
       " does not have this entry point; use a newer plugin");
}

}  // namespace tpjrt::pjrt
