#include "base/dtype.h"

#include <array>

#include "base/error.h"

namespace tpjrt {
namespace {

enum class Kind : uint8_t { kBool, kUnsigned, kSigned, kFloat, kComplex };

struct Info {
  DType dtype;
  Kind kind;
  uint8_t size;
  std::string_view name;
  std::string_view hlo;
};

constexpr std::array<Info, kNumDTypes> kTable = {{
    {DType::kBool, Kind::kBool, 1, "bool", "i1"},
    {DType::kU8, Kind::kUnsigned, 1, "uint8", "ui8"},
    {DType::kI8, Kind::kSigned, 1, "int8", "i8"},
    {DType::kU16, Kind::kUnsigned, 2, "uint16", "ui16"},
    {DType::kI16, Kind::kSigned, 2, "int16", "i16"},
    {DType::kU32, Kind::kUnsigned, 4, "uint32", "ui32"},
    {DType::kI32, Kind::kSigned, 4, "int32", "i32"},
    {DType::kU64, Kind::kUnsigned, 8, "uint64", "ui64"},
    {DType::kI64, Kind::kSigned, 8, "int64", "i64"},
    {DType::kF8E4M3FN, Kind::kFloat, 1, "float8_e4m3fn", "f8E4M3FN"},
    {DType::kF8E5M2, Kind::kFloat, 1, "float8_e5m2", "f8E5M2"},
    {DType::kF8E4M3FNUZ, Kind::kFloat, 1, "float8_e4m3fnuz", "f8E4M3FNUZ"},
    {DType::kF8E5M2FNUZ, Kind::kFloat, 1, "float8_e5m2fnuz", "f8E5M2FNUZ"},
    {DType::kF16, Kind::kFloat, 2, "float16", "f16"},
    {DType::kBF16, Kind::kFloat, 2, "bfloat16", "bf16"},
    {DType::kF32, Kind::kFloat, 4, "float32", "f32"},
    {DType::kF64, Kind::kFloat, 8, "float64", "f64"},
    {DType::kC64, Kind::kComplex, 8, "complex64", "complex<f32>"},
    {DType::kC128, Kind::kComplex, 16, "complex128", "complex<f64>"},
}};

constexpr bool TableIsInOrder() {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (kTable[i].dtype != static_cast<DType>(i)) return false;
  }
  return true;
}
static_assert(TableIsInOrder());

const Info& Of(DType dtype) { return kTable.at(static_cast<size_t>(dtype)); }

DType PromoteIntegers(DType a, DType b) {
  const Info& x = Of(a);
  const Info& y = Of(b);
  if (x.kind == y.kind) return x.size >= y.size ? a : b;
  const Info& u = x.kind == Kind::kUnsigned ? x : y;
  const Info& s = x.kind == Kind::kUnsigned ? y : x;
  if (s.size > u.size) return s.dtype;
  // Of the unsigned types only uint8 mixes with signed ones.
  Require(u.dtype == DType::kU8, "Promotion for uint16, uint32, uint64 types is not supported, ",
          "attempted to promote ", x.name, " and ", y.name);
  return DType::kI16;
}

DType PromoteFloats(DType a, DType b) {
  const Info& x = Of(a);
  const Info& y = Of(b);
  Require(x.size != 1 && y.size != 1,
          "Promotion for Float8 Types is not supported, attempted to promote ", x.name, " and ",
          y.name);
  if (x.size == y.size) return DType::kF32;  // float16 and bfloat16
  return x.size > y.size ? a : b;
}

}  // namespace

size_t ItemSize(DType dtype) { return Of(dtype).size; }
std::string_view Name(DType dtype) { return Of(dtype).name; }
std::string_view HloName(DType dtype) { return Of(dtype).hlo; }

bool IsFloat(DType dtype) { return Of(dtype).kind == Kind::kFloat; }
bool IsComplex(DType dtype) { return Of(dtype).kind == Kind::kComplex; }
bool IsUnsigned(DType dtype) { return Of(dtype).kind == Kind::kUnsigned; }
bool IsInteger(DType dtype) {
  return Of(dtype).kind == Kind::kUnsigned || Of(dtype).kind == Kind::kSigned;
}

DType RealOf(DType dtype) {
  if (dtype == DType::kC64) return DType::kF32;
  if (dtype == DType::kC128) return DType::kF64;
  return dtype;
}

DType ComplexOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
    case DType::kC64:
      return DType::kC64;
    case DType::kF64:
    case DType::kC128:
      return DType::kC128;
    default:
      Fail(ErrorCode::kInvalidArgument, "no complex type for ", Name(dtype));
  }
}

DType ComputeType(DType dtype) {
  return IsFloat(dtype) && ItemSize(dtype) < 4 ? DType::kF32 : dtype;
}

DType PromoteTypes(DType a, DType b) {
  if (a == b) return a;
  const Kind ka = Of(a).kind;
  const Kind kb = Of(b).kind;
  if (ka == Kind::kBool) return b;
  if (kb == Kind::kBool) return a;
  if (ka == Kind::kComplex || kb == Kind::kComplex) {
    const bool wide =
        a == DType::kC128 || b == DType::kC128 || a == DType::kF64 || b == DType::kF64;
    return wide ? DType::kC128 : DType::kC64;
  }
  if (ka == Kind::kFloat && kb == Kind::kFloat) return PromoteFloats(a, b);
  if (ka == Kind::kFloat) return a;
  if (kb == Kind::kFloat) return b;
  return PromoteIntegers(a, b);
}

std::optional<DType> DTypeFromName(std::string_view name) {
  for (const Info& info : kTable) {
    if (info.name == name) return info.dtype;
  }
  return std::nullopt;
}

}  // namespace tpjrt
