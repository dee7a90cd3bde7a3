#include "hlo/text.h"

namespace tpjrt::hlo {

std::string I64Array(const Dims& values) {
  if (values.empty()) return "array<i64>";
  std::string text = "array<i64: ";
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(values[i]);
  }
  return text + ">";
}

std::string BoolArray(const std::vector<bool>& values) {
  if (values.empty()) return "array<i1>";
  std::string text = "array<i1: ";
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += ", ";
    text += BoolText(values[i]);
  }
  return text + ">";
}

std::string PairTable(const Dims& low, const Dims& high) {
  Check(low.size() == high.size(), "padding lists of different lengths");
  if (low.empty()) return "dense<> : tensor<0x2xi64>";
  std::string text = "dense<[";
  for (size_t i = 0; i < low.size(); ++i) {
    if (i > 0) text += ", ";
    text += StrCat("[", low[i], ", ", high[i], "]");
  }
  return text + StrCat("]> : tensor<", low.size(), "x2xi64>");
}

std::string Describe(std::span<const Value> operands) {
  std::string text;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (i > 0) text += ", ";
    text += operands[i].valid() ? ToString(operands[i].type()) : "none";
  }
  return text;
}

void FailOperands(std::string_view op, std::span<const Value> operands, std::string_view rule) {
  Fail(ErrorCode::kInvalidArgument, op, "(", Describe(operands), "): ", rule);
}

void RequireOperands(bool condition, std::string_view op, std::span<const Value> operands,
                     std::string_view rule) {
  if (!condition) [[unlikely]]
    FailOperands(op, operands, rule);
}

void RequireSameType(std::string_view op, Value a, Value b) {
  Check(a.valid() && b.valid(), op, ": an operand is empty");
  if (a.type() == b.type()) [[likely]]
    return;
  FailOperands(op, std::vector<Value>{a, b}, "operands must have equal types");
}

}  // namespace tpjrt::hlo
