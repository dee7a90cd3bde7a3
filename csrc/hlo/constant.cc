#include <bit>
#include <cmath>
#include <limits>

#include "hlo/elementwise.h"
#include "hlo/float_bits.h"
#include "hlo/text.h"

namespace tpjrt::hlo {
namespace {

std::string FloatText(DType dtype, double value) {
  const int64_t integral = std::abs(value) < 1e6 ? static_cast<int64_t>(value) : 0;
  const bool plain = ItemSize(dtype) >= 4 && static_cast<double>(integral) == value &&
                     !(value == 0 && std::signbit(value));
  if (plain) return std::to_string(integral) + ".0";
  char text[24];
  std::snprintf(text, sizeof text, "0x%0*llX", static_cast<int>(2 * ItemSize(dtype)),
                static_cast<unsigned long long>(FloatBits(dtype, value)));
  return text;
}

struct Range {
  int64_t low;
  uint64_t high;
};

Range RangeOf(DType dtype) {
  const int bits = static_cast<int>(8 * ItemSize(dtype));
  if (dtype == DType::kBool) return {0, 1};
  if (IsUnsigned(dtype)) return {0, ~uint64_t{0} >> (64 - bits)};
  return {static_cast<int64_t>(~uint64_t{0} << (bits - 1)), ~uint64_t{0} >> (65 - bits)};
}

std::string IntText(DType dtype, int64_t value) {
  if (dtype == DType::kBool) return value != 0 ? "true" : "false";
  const Range range = RangeOf(dtype);
  Require(value >= range.low && (value < 0 || static_cast<uint64_t>(value) <= range.high),
          "constant ", value, " does not fit ", Name(dtype));
  return std::to_string(value);
}

// A double as an element of an integer type.
std::string IntTextFromDouble(DType dtype, double value) {
  if (dtype == DType::kBool) return value != 0 ? "true" : "false";
  Require(std::isfinite(value), "constant ", value, " does not fit ", Name(dtype));
  const double whole = std::trunc(value);
  if (dtype == DType::kU64 && whole >= 0x1p63 && whole < 0x1p64) {
    return std::to_string(static_cast<uint64_t>(whole));
  }
  Require(whole >= -0x1p63 && whole < 0x1p63, "constant ", value, " does not fit ", Name(dtype));
  return IntText(dtype, static_cast<int64_t>(whole));
}

Value EmitSplat(Builder& b, DType dtype, const std::string& element, const Dims& dims) {
  const Type type{dtype, dims};
  const std::string content = NumElements(dims) == 0 ? "" : element;
  return b.Emit1("stablehlo.constant", {}, StrCat("value = dense<", content, "> : ", ToHlo(type)),
                 type);
}

void AppendNested(DType dtype, const std::vector<int64_t>& values, const Dims& dims, size_t depth,
                  size_t* next, std::string* text) {
  if (depth == dims.size()) {
    *text += IntText(dtype, values[(*next)++]);
    return;
  }
  *text += "[";
  for (int64_t i = 0; i < dims[depth]; ++i) {
    if (i > 0) *text += ", ";
    AppendNested(dtype, values, dims, depth + 1, next, text);
  }
  *text += "]";
}

}  // namespace

Value Constant(Builder& b, DType dtype, double value, const Dims& dims) {
  if (IsComplex(dtype)) return ConstantComplex(b, dtype, {value, 0.0}, dims);
  return EmitSplat(
      b, dtype, IsFloat(dtype) ? FloatText(dtype, value) : IntTextFromDouble(dtype, value), dims);
}

Value ConstantInt(Builder& b, DType dtype, int64_t value, const Dims& dims) {
  if (IsFloat(dtype) || IsComplex(dtype)) {
    return Constant(b, dtype, static_cast<double>(value), dims);
  }
  return EmitSplat(b, dtype, IntText(dtype, value), dims);
}

Value ConstantComplex(Builder& b, DType dtype, std::complex<double> value, const Dims& dims) {
  Require(IsComplex(dtype), "complex constant of type ", Name(dtype));
  const DType real = RealOf(dtype);
  return EmitSplat(
      b, dtype,
      StrCat("(", FloatText(real, value.real()), ", ", FloatText(real, value.imag()), ")"), dims);
}

Value ConstantList(Builder& b, DType dtype, const std::vector<int64_t>& values, const Dims& dims) {
  Require(!IsFloat(dtype) && !IsComplex(dtype), "constant list of type ", Name(dtype));
  Require(static_cast<int64_t>(values.size()) == NumElements(dims), "constant list of ",
          values.size(), " elements for dims ", ToString(dims));
  if (values.empty()) return EmitSplat(b, dtype, "", dims);
  std::string text;
  size_t next = 0;
  AppendNested(dtype, values, dims, 0, &next, &text);
  return EmitSplat(b, dtype, text, dims);
}

Value ConstantLike(Value x, double value) {
  return Constant(x.builder(), x.dtype(), value, x.dims());
}

Value ZerosLike(Value x) { return ConstantLike(x, 0.0); }

Value LowestValue(Builder& b, DType dtype, const Dims& dims) {
  if (IsFloat(dtype)) return Constant(b, dtype, -std::numeric_limits<double>::infinity(), dims);
  Require(!IsComplex(dtype), "complex types have no lowest value");
  return ConstantInt(b, dtype, RangeOf(dtype).low, dims);
}

Value HighestValue(Builder& b, DType dtype, const Dims& dims) {
  if (IsFloat(dtype)) return Constant(b, dtype, std::numeric_limits<double>::infinity(), dims);
  Require(!IsComplex(dtype), "complex types have no highest value");
  if (dtype == DType::kBool) return ConstantInt(b, dtype, 1, dims);
  return EmitSplat(b, dtype, std::to_string(RangeOf(dtype).high), dims);
}

}  // namespace tpjrt::hlo
