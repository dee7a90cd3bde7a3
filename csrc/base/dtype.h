// Element types: one table with every name and size, shared by all layers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tpjrt {

enum class DType : uint8_t {
  kBool,
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kU64,
  kI64,
  kF8E4M3FN,
  kF8E5M2,
  kF8E4M3FNUZ,
  kF8E5M2FNUZ,
  kF16,
  kBF16,
  kF32,
  kF64,
  kC64,
  kC128,
};
inline constexpr int kNumDTypes = 19;

size_t ItemSize(DType dtype);           // bytes of one element
std::string_view Name(DType dtype);     // "float32", as PyTorch spells it
std::string_view HloName(DType dtype);  // "f32", as StableHLO spells it

bool IsFloat(DType dtype);     // real floating point
bool IsComplex(DType dtype);   // c64, c128
bool IsInteger(DType dtype);   // signed or unsigned, not bool
bool IsUnsigned(DType dtype);  // unsigned integers

DType RealOf(DType dtype);  // c64 -> f32, c128 -> f64, others unchanged
DType ComplexOf(
    DType dtype);  // f32 -> c64, f64 -> c128, f16/bf16 -> c64; kInvalidArgument otherwise
// The type PyTorch computes in: f16, bf16 and fp8 -> f32; others unchanged.
DType ComputeType(DType dtype);

// PyTorch's promotion of two types of the same category (torch.promote_types).
DType PromoteTypes(DType a, DType b);

std::optional<DType> DTypeFromName(std::string_view name);

}  // namespace tpjrt
