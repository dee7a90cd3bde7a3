// Structured control flow.
#pragma once

#include "hlo/builder.h"

namespace tpjrt::hlo {

// Repeats body while cond(state) is true; both regions receive the state values. Values made
// outside a region may be used inside it.
std::vector<Value> While(std::span<const Value> init, const Region& cond, const Region& body);
// for (i = 0; i < count; ++i) state = body(i, state): i is a rank-0 i32, the first block argument.
std::vector<Value> ForLoop(Builder& b, int64_t count, std::span<const Value> init,
                           const Region& body);
std::vector<Value> If(Value predicate, const Region& on_true, const Region& on_false);

}  // namespace tpjrt::hlo
