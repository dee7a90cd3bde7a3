#include "lower/promote.h"

#include "base/error.h"

namespace tpjrt::lower {
namespace {

int Category(DType dtype) {
  if (dtype == DType::kBool) return 0;
  if (IsInteger(dtype)) return 1;
  return IsComplex(dtype) ? 3 : 2;
}

std::optional<DType> Combine(std::optional<DType> strong, std::optional<DType> weak) {
  if (!strong) return weak;
  if (!weak || Category(*weak) <= Category(*strong)) return strong;
  return PromoteTypes(*strong, *weak);
}

}  // namespace

void Promotion::Join(std::optional<DType>& into, DType dtype) {
  into = into ? PromoteTypes(*into, dtype) : dtype;
}

void Promotion::AddTensor(DType dtype, int64_t rank) { Join(rank > 0 ? dims_ : zero_dim_, dtype); }

void Promotion::AddNumber(DType dtype) {
  if (IsComplex(dtype)) {
    Join(number_, DType::kC64);
  } else if (IsFloat(dtype)) {
    Join(number_, DType::kF32);
  } else {
    Join(number_, dtype);
  }
}

void Promotion::AddScalar(const ir::Scalar& scalar) {
  static constexpr DType kTypes[] = {DType::kBool, DType::kI64, DType::kF64, DType::kC128};
  AddNumber(kTypes[scalar.value.index()]);
}

DType Promotion::Result() const {
  const auto result = Combine(Combine(dims_, zero_dim_), number_);
  Require(result.has_value(), "type promotion of no operands");
  return *result;
}

}  // namespace tpjrt::lower
