// Operators the device does not serve run on the CPU: counted, warned about once each, or refused.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <map>
#include <string>

namespace tpjrt::aten {

enum class FallbackPolicy { kWarn, kSilent, kError };

void SetFallbackPolicy(FallbackPolicy policy);
FallbackPolicy GetFallbackPolicy();
std::map<std::string, int64_t> FallbackCounts();  // by overload: "aten::foo.bar"
void ResetFallbackCounts();

// Runs the call on the CPU. `reason` says why the device does not.
void Fallback(const c10::OperatorHandle& op, c10::Stack* stack, const std::string& reason);
// The device's kernel for every overload without one.
void RegisterFallback();

}  // namespace tpjrt::aten
