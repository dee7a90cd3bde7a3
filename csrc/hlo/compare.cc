#include <limits>

#include "hlo/elementwise.h"
#include "hlo/text.h"

namespace tpjrt::hlo {
namespace {

std::string_view CompareType(DType dtype) {
  if (IsFloat(dtype) || IsComplex(dtype)) return "FLOAT";
  return dtype == DType::kBool || IsUnsigned(dtype) ? "UNSIGNED" : "SIGNED";
}

Value Compare(std::string_view direction, Value a, Value b, std::string_view compare_type) {
  RequireSameType("stablehlo.compare", a, b);
  const bool equality = direction == "EQ" || direction == "NE";
  RequireOperands(equality || !IsComplex(a.dtype()), "stablehlo.compare", std::vector<Value>{a, b},
                  "complex numbers have no order");
  const std::string attributes =
      StrCat("comparison_direction = #stablehlo<comparison_direction ", direction,
             ">, compare_type = #stablehlo<comparison_type ", compare_type, ">");
  return a.builder().Emit1("stablehlo.compare", std::vector<Value>{a, b}, attributes,
                           Type{DType::kBool, a.dims()});
}

Value Compare(std::string_view direction, Value a, Value b) {
  return Compare(direction, a, b, CompareType(a.dtype()));
}

}  // namespace

Value Eq(Value a, Value b) { return Compare("EQ", a, b); }
Value Ne(Value a, Value b) { return Compare("NE", a, b); }
Value Lt(Value a, Value b) { return Compare("LT", a, b); }
Value Le(Value a, Value b) { return Compare("LE", a, b); }
Value Gt(Value a, Value b) { return Compare("GT", a, b); }
Value Ge(Value a, Value b) { return Compare("GE", a, b); }
Value Eq(Value a, double b) { return Eq(a, ConstantLike(a, b)); }
Value Ne(Value a, double b) { return Ne(a, ConstantLike(a, b)); }
Value Lt(Value a, double b) { return Lt(a, ConstantLike(a, b)); }
Value Le(Value a, double b) { return Le(a, ConstantLike(a, b)); }
Value Gt(Value a, double b) { return Gt(a, ConstantLike(a, b)); }
Value Ge(Value a, double b) { return Ge(a, ConstantLike(a, b)); }

Value LtTotalOrder(Value a, Value b) {
  return Compare("LT", a, b, IsFloat(a.dtype()) ? "TOTALORDER" : CompareType(a.dtype()));
}
Value GtTotalOrder(Value a, Value b) {
  return Compare("GT", a, b, IsFloat(a.dtype()) ? "TOTALORDER" : CompareType(a.dtype()));
}

Value Select(Value predicate, Value on_true, Value on_false) {
  const std::vector<Value> operands = {predicate, on_true, on_false};
  RequireSameType("stablehlo.select", on_true, on_false);
  RequireOperands(predicate.dtype() == DType::kBool &&
                      (predicate.rank() == 0 || predicate.dims() == on_true.dims()),
                  "stablehlo.select", operands, "predicate must be bool, rank 0 or of equal dims");
  return on_true.builder().Emit1("stablehlo.select", operands, "", on_true.type());
}

Value IsFinite(Value x) {
  if (IsComplex(x.dtype())) return And(IsFinite(Real(x)), IsFinite(Imag(x)));
  if (!IsFloat(x.dtype())) return Constant(x.builder(), DType::kBool, 1, x.dims());
  return x.builder().Emit1("stablehlo.is_finite", std::vector<Value>{x}, "",
                           Type{DType::kBool, x.dims()});
}

Value IsNan(Value x) {
  if (IsComplex(x.dtype())) return Or(IsNan(Real(x)), IsNan(Imag(x)));
  if (!IsFloat(x.dtype())) return Constant(x.builder(), DType::kBool, 0, x.dims());
  return Ne(x, x);
}

Value IsInf(Value x) {
  if (IsComplex(x.dtype())) return Or(IsInf(Real(x)), IsInf(Imag(x)));
  if (!IsFloat(x.dtype())) return Constant(x.builder(), DType::kBool, 0, x.dims());
  return Eq(Abs(x), std::numeric_limits<double>::infinity());
}

}  // namespace tpjrt::hlo
