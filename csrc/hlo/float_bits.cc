#include "hlo/float_bits.h"

#include <bit>
#include <cmath>

#include "base/error.h"

namespace tpjrt::hlo {
namespace {

// A binary float format below 32 bits.
struct Format {
  int exponent_bits, mantissa_bits, bias;
  bool has_infinity;
  uint64_t nan;
  uint64_t largest;  // bits of the largest finite number
  bool negative_zero;
};

Format FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return {5, 10, 15, true, 0x7E00, 0x7BFF, true};
    case DType::kBF16:
      return {8, 7, 127, true, 0x7FC0, 0x7F7F, true};
    case DType::kF8E5M2:
      return {5, 2, 15, true, 0x7F, 0x7B, true};
    case DType::kF8E4M3FN:
      return {4, 3, 7, false, 0x7F, 0x7E, true};
    case DType::kF8E5M2FNUZ:
      return {5, 2, 16, false, 0x80, 0x7F, false};
    case DType::kF8E4M3FNUZ:
      return {4, 3, 8, false, 0x80, 0x7F, false};
    default:
      Fail(ErrorCode::kInvalidArgument, "not a floating type: ", Name(dtype));
  }
}

uint64_t SmallFloatBits(const Format& format, double value) {
  if (std::isnan(value)) return format.nan;
  const uint64_t sign =
      std::signbit(value) ? uint64_t{1} << (format.exponent_bits + format.mantissa_bits) : 0;
  const uint64_t overflow =
      format.has_infinity
          ? sign | (((uint64_t{1} << format.exponent_bits) - 1) << format.mantissa_bits)
          : format.nan | (format.negative_zero ? sign : 0);
  const double magnitude = std::abs(value);
  if (std::isinf(magnitude)) return overflow;
  int exponent = magnitude == 0 ? -2000 : std::ilogb(magnitude);
  exponent = std::max(exponent, 1 - format.bias);
  // The magnitude in units of the last place of its binade; nearbyint rounds half to even.
  const double units = std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent));
  const uint64_t hidden = uint64_t{1} << format.mantissa_bits;
  const uint64_t mantissa = static_cast<uint64_t>(units);
  // A carry out of the mantissa lands in the exponent, which is what rounding up means.
  const uint64_t bits =
      mantissa < hidden ? mantissa
                        : (static_cast<uint64_t>(exponent + format.bias) << format.mantissa_bits) +
                              (mantissa - hidden);
  if (bits > format.largest) return overflow;
  if (bits == 0 && !format.negative_zero) return 0;
  return sign | bits;
}

}  // namespace

uint64_t FloatBits(DType dtype, double value) {
  if (dtype == DType::kF64) {
    return std::isnan(value) ? 0x7FF8000000000000 : std::bit_cast<uint64_t>(value);
  }
  if (dtype == DType::kF32) {
    return std::isnan(value) ? 0x7FC00000 : std::bit_cast<uint32_t>(static_cast<float>(value));
  }
  return SmallFloatBits(FormatOf(dtype), value);
}

}  // namespace tpjrt::hlo
