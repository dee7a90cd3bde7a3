// The options that every program is compiled with, as the bytes of XLA's CompileOptionsProto.
#pragma once

#include <string>
#include <string_view>

namespace tpjrt::pjrt {

// One replica and partition, portable (one compile serves all devices of a client). On "cpu" the
// compiler's fast minimum and maximum, which lose a NaN in the second operand, are switched off:
// PyTorch propagates NaN.
std::string EncodeCompileOptions(std::string_view platform_name);

}  // namespace tpjrt::pjrt
