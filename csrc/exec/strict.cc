#include "exec/strict.h"

#include <atomic>

#include "base/error.h"

namespace tpjrt::exec {
namespace {

std::atomic<bool> strict_mode{false};

}  // namespace

bool Strict() { return strict_mode.load(std::memory_order_relaxed); }

void SetStrict(bool strict) { strict_mode.store(strict, std::memory_order_relaxed); }

void RequireMayCompile() {
  if (!Strict()) return;
  Fail(ErrorCode::kFailedPrecondition,
       "this compiles a program, which torch_pjrt.strict() forbids: run it once before strict "
       "mode, ",
       "with these shapes and dtypes");
}

}  // namespace tpjrt::exec
