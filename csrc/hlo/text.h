// Pieces of StableHLO text and the operand checks that the op files share. Private to hlo/.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "hlo/builder.h"

namespace tpjrt::hlo {

std::string I64Array(const Dims& values);                  // "array<i64: 1, 2>"
std::string BoolArray(const std::vector<bool>& values);    // "array<i1: true, false>"
std::string PairTable(const Dims& low, const Dims& high);  // "dense<[[0, 1]]> : tensor<1x2xi64>"
inline std::string_view BoolText(bool value) { return value ? "true" : "false"; }

std::string Describe(std::span<const Value> operands);  // "float32[2], int64[]"

// The checks: kInvalidArgument with the op's name and the operands' types.
[[noreturn]] void FailOperands(std::string_view op, std::span<const Value> operands,
                               std::string_view rule);
void RequireOperands(bool condition, std::string_view op, std::span<const Value> operands,
                     std::string_view rule);
void RequireSameType(std::string_view op, Value a, Value b);

}  // namespace tpjrt::hlo
