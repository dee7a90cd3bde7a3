#include "aten/dtypes.h"

#include <c10/util/Exception.h>

#include <array>
#include <utility>

namespace tpjrt::aten {
namespace {

using c10::ScalarType;

constexpr std::array<std::pair<ScalarType, DType>, kNumDTypes> kPairs = {{
    {ScalarType::Bool, DType::kBool},
    {ScalarType::Byte, DType::kU8},
    {ScalarType::Char, DType::kI8},
    {ScalarType::UInt16, DType::kU16},
    {ScalarType::Short, DType::kI16},
    {ScalarType::UInt32, DType::kU32},
    {ScalarType::Int, DType::kI32},
    {ScalarType::UInt64, DType::kU64},
    {ScalarType::Long, DType::kI64},
    {ScalarType::Float8_e4m3fn, DType::kF8E4M3FN},
    {ScalarType::Float8_e5m2, DType::kF8E5M2},
    {ScalarType::Float8_e4m3fnuz, DType::kF8E4M3FNUZ},
    {ScalarType::Float8_e5m2fnuz, DType::kF8E5M2FNUZ},
    {ScalarType::Half, DType::kF16},
    {ScalarType::BFloat16, DType::kBF16},
    {ScalarType::Float, DType::kF32},
    {ScalarType::Double, DType::kF64},
    {ScalarType::ComplexFloat, DType::kC64},
    {ScalarType::ComplexDouble, DType::kC128},
}};

constexpr int kTypes = static_cast<int>(ScalarType::NumOptions);

constexpr std::array<int8_t, kTypes> MakeTable() {
  std::array<int8_t, kTypes> table{};
  for (auto& entry : table) entry = -1;
  for (const auto& [type, dtype] : kPairs)
    table[static_cast<int>(type)] = static_cast<int8_t>(dtype);
  return table;
}
constexpr auto kTable = MakeTable();

}  // namespace

bool HasDType(ScalarType type) {
  const auto index = static_cast<size_t>(type);
  return index < kTable.size() && kTable[index] >= 0;
}

DType ToDType(ScalarType type) {
  TORCH_CHECK_NOT_IMPLEMENTED(HasDType(type), "dtype ", type, " is not supported on this device");
  return static_cast<DType>(kTable[static_cast<size_t>(type)]);
}

ScalarType ToScalarType(DType dtype) {
  const auto& [type, same] = kPairs[static_cast<size_t>(dtype)];
  TORCH_INTERNAL_ASSERT(same == dtype);
  return type;
}

}  // namespace tpjrt::aten
