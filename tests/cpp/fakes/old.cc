// A plugin of a PJRT API from before the table's fields were rearranged.
#include <pjrt_c_api.h>

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  static PJRT_Api api = [] {
    PJRT_Api old{};
    old.struct_size = PJRT_Api_STRUCT_SIZE;
    old.pjrt_api_version.struct_size = PJRT_Api_Version_STRUCT_SIZE;
    old.pjrt_api_version.major_version = PJRT_API_MAJOR;
    old.pjrt_api_version.minor_version = 40;
    return old;
  }();
  return &api;
}
