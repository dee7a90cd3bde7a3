// Errors of the core: one exception type with a code, so that a boundary can map it
// (OutOfMemory -> torch.OutOfMemoryError, IndexError, ...) without parsing text.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace tpjrt {

enum class ErrorCode {
  kInvalidArgument,
  kNotFound,
  kOutOfRange,  // an index, found while a program ran
  kUnimplemented,
  kResourceExhausted,
  kFailedPrecondition,
  kInternal,
};

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

template <typename... Parts>
std::string StrCat(Parts&&... parts) {
  std::ostringstream out;
  (out << ... << std::forward<Parts>(parts));
  return out.str();
}

template <typename... Parts>
[[noreturn]] void Fail(ErrorCode code, Parts&&... parts) {
  throw Error(code, StrCat(std::forward<Parts>(parts)...));
}

// Throws kInvalidArgument unless the condition holds.
template <typename... Parts>
void Require(bool condition, Parts&&... parts) {
  if (!condition) [[unlikely]] {
    Fail(ErrorCode::kInvalidArgument, std::forward<Parts>(parts)...);
  }
}

// Throws kInternal unless the condition holds: a fault of ours, not of the caller.
template <typename... Parts>
void Check(bool condition, Parts&&... parts) {
  if (!condition) [[unlikely]] {
    Fail(ErrorCode::kInternal, "internal error: ", std::forward<Parts>(parts)...);
  }
}

}  // namespace tpjrt
