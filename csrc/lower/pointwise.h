// What the pointwise families share: operands in the type PyTorch computes in, broadcast to the
// result's dims, and one rounding at the end. float16 and bfloat16 compute in float32.
#pragma once

#include "hlo/elementwise.h"
#include "hlo/shape.h"
#include "lower/row.h"

namespace tpjrt::lower {

using UnaryFn = Value (*)(Value);
using BinaryFn = Value (*)(Value, Value);

// The dtype of a float function of `dtype`: its own where floating or complex, else the result's.
DType FloatTypeFor(Context& c, DType dtype);

// An argument in `dtype`, broadcast to the result's dims.
Value Wide(Context& c, std::string_view name, DType dtype);
// The same for a scalar argument.
Value WideScalar(Context& c, std::string_view name, DType dtype);
// A value of rank 0 or broadcastable, with the dims of `like`.
Value Like(Value x, Value like);

inline constexpr char kSelf[] = "self";
inline constexpr char kX[] = "x";

// x with the precision of float16 or bfloat16, still in its own type; x itself for other types.
Value RoundedTo(Value x, DType type);

// F of self as a float: integers and bool become the default float type.
template <UnaryFn F, const char* kName = kSelf>
Outcome FloatUnary(Context& c) {
  const DType type = FloatTypeFor(c, c.TensorType(kName).dtype);
  return hlo::Convert(F(c.TensorAs(kName, ComputeType(type))), type);
}

// F of self in self's own category: F sees integers as integers.
template <UnaryFn F>
Outcome SameUnary(Context& c) {
  const DType type = c.TensorType("self").dtype;
  return hlo::Convert(F(c.TensorAs("self", ComputeType(type))), type);
}

// F takes any type and gives bool.
template <UnaryFn F>
Outcome Predicate(Context& c) {
  return F(c.Tensor("self"));
}

}  // namespace tpjrt::lower
