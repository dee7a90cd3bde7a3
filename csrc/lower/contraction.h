// Products with PyTorch's accumulation: half types in float32, rounded once by the caller.
#pragma once

#include "hlo/linalg.h"
#include "lower/context.h"

namespace tpjrt::lower {

// The type a product of `dtype` is accumulated in.
DType AccumulateType(DType dtype);

// How much precision a contraction of float32 values needs that were `dtype` before: bfloat16
// products are exact in the native precision of every unit.
hlo::Precision PrecisionFor(DType dtype);

// lhs and rhs have one dtype; the result is in its AccumulateType. Half types are widened first:
// some compilers cannot run a mixed-precision product of transposed operands.
Value Contract(Value lhs, Value rhs, const hlo::DotDims& dims);

}  // namespace tpjrt::lower
