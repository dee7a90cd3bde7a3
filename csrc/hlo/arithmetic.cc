#include "hlo/elementwise.h"
#include "hlo/text.h"

namespace tpjrt::hlo {
namespace {

Value Binary(std::string_view name, Value a, Value b) {
  RequireSameType(name, a, b);
  return a.builder().Emit1(name, std::vector<Value>{a, b}, "", a.type());
}

Value NumericBinary(std::string_view name, Value a, Value b) {
  RequireSameType(name, a, b);
  RequireOperands(a.dtype() != DType::kBool, name, std::vector<Value>{a, b},
                  "not defined for bool");
  return Binary(name, a, b);
}

Value OrderedBinary(std::string_view name, Value a, Value b) {
  RequireSameType(name, a, b);
  RequireOperands(!IsComplex(a.dtype()), name, std::vector<Value>{a, b}, "not defined for complex");
  return Binary(name, a, b);
}

Value BitBinary(std::string_view name, Value a, Value b) {
  RequireSameType(name, a, b);
  RequireOperands(IsInteger(a.dtype()) || a.dtype() == DType::kBool, name, std::vector<Value>{a, b},
                  "operands must be bool or integer");
  return Binary(name, a, b);
}

Value Shift(std::string_view name, Value a, Value b) {
  RequireSameType(name, a, b);
  RequireOperands(IsInteger(a.dtype()), name, std::vector<Value>{a, b}, "operands must be integer");
  return Binary(name, a, b);
}

}  // namespace

Value operator+(Value a, Value b) { return Binary("stablehlo.add", a, b); }
Value operator-(Value a, Value b) { return NumericBinary("stablehlo.subtract", a, b); }
Value operator*(Value a, Value b) { return Binary("stablehlo.multiply", a, b); }
Value operator/(Value a, Value b) { return NumericBinary("stablehlo.divide", a, b); }
Value operator+(Value a, double b) { return a + ConstantLike(a, b); }
Value operator-(Value a, double b) { return a - ConstantLike(a, b); }
Value operator*(Value a, double b) { return a * ConstantLike(a, b); }
Value operator/(Value a, double b) { return a / ConstantLike(a, b); }
Value operator+(double a, Value b) { return ConstantLike(b, a) + b; }
Value operator-(double a, Value b) { return ConstantLike(b, a) - b; }
Value operator*(double a, Value b) { return ConstantLike(b, a) * b; }
Value operator/(double a, Value b) { return ConstantLike(b, a) / b; }

Value operator-(Value x) {
  RequireOperands(x.dtype() != DType::kBool, "stablehlo.negate", std::vector<Value>{x},
                  "not defined for bool");
  return x.builder().Emit1("stablehlo.negate", std::vector<Value>{x}, "", x.type());
}

Value Rem(Value a, Value b) {
  RequireOperands(!IsComplex(a.dtype()), "stablehlo.remainder", std::vector<Value>{a, b},
                  "not defined for complex");
  return NumericBinary("stablehlo.remainder", a, b);
}
Value Max(Value a, Value b) { return OrderedBinary("stablehlo.maximum", a, b); }
Value Min(Value a, Value b) { return OrderedBinary("stablehlo.minimum", a, b); }
Value Pow(Value a, Value b) { return NumericBinary("stablehlo.power", a, b); }

Value Atan2(Value a, Value b) {
  RequireOperands(IsFloat(a.dtype()) || IsComplex(a.dtype()), "stablehlo.atan2",
                  std::vector<Value>{a, b}, "operands must be floating point");
  return Binary("stablehlo.atan2", a, b);
}

Value And(Value a, Value b) { return BitBinary("stablehlo.and", a, b); }
Value Or(Value a, Value b) { return BitBinary("stablehlo.or", a, b); }
Value Xor(Value a, Value b) { return BitBinary("stablehlo.xor", a, b); }
Value Not(Value x) {
  RequireOperands(IsInteger(x.dtype()) || x.dtype() == DType::kBool, "stablehlo.not",
                  std::vector<Value>{x}, "operand must be bool or integer");
  return x.builder().Emit1("stablehlo.not", std::vector<Value>{x}, "", x.type());
}
Value ShiftLeft(Value a, Value b) { return Shift("stablehlo.shift_left", a, b); }
Value ShiftRightArithmetic(Value a, Value b) {
  return Shift("stablehlo.shift_right_arithmetic", a, b);
}
Value ShiftRightLogical(Value a, Value b) { return Shift("stablehlo.shift_right_logical", a, b); }

Value Clamp(Value low, Value x, Value high) {
  const std::vector<Value> operands = {low, x, high};
  for (const Value& bound : {low, high}) {
    RequireOperands(bound.type() == x.type() || bound.type() == Type{x.dtype(), {}},
                    "stablehlo.clamp", operands, "bounds must have x's type or be its scalars");
  }
  RequireOperands(!IsComplex(x.dtype()), "stablehlo.clamp", operands, "not defined for complex");
  return x.builder().Emit1("stablehlo.clamp", operands, "", x.type());
}

}  // namespace tpjrt::hlo
