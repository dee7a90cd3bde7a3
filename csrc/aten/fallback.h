// Operators the device does not serve run on the CPU: counted, warned about once each, or refused.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace tpjrt::aten {

enum class FallbackPolicy { kWarn, kSilent, kError };

void SetFallbackPolicy(FallbackPolicy policy);
FallbackPolicy GetFallbackPolicy();
std::map<std::string, int64_t> FallbackCounts();  // by overload: "aten::foo.bar"
void ResetFallbackCounts();

// Counts a call that is about to run on the CPU and warns once for each operator, or throws when
// the policy is kError. `types` are the arguments', for the message.
void AdmitFallback(const std::string& op, const std::string& types, const std::string& reason);
// Called with the operator and the reason before each call that runs on the CPU, by the thread that
// makes it. Set once; it must not throw.
using FallbackObserver = std::function<void(const std::string& op, const std::string& reason)>;
void SetFallbackObserver(FallbackObserver observer);

// Runs the call on the CPU. `reason` says why the device does not.
void Fallback(const c10::OperatorHandle& op, c10::Stack* stack, const std::string& reason);
// The device's kernel for every overload without one.
void RegisterFallback();

}  // namespace tpjrt::aten
