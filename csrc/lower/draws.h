// Tensors of random numbers of the standard distributions, from the stream that philox.h describes.
#pragma once

#include "lower/context.h"

namespace tpjrt::lower {

// The type that numbers of `dtype` are drawn in: float64 or float32.
DType DrawType(DType dtype);

// Uniform in [0, 1) with `bits` bits (0: all that dtype holds), or in (0, 1].
Value DrawUnits(Context& c, DType dtype, const Dims& dims, int64_t bits = 0);
Value DrawOpenUnits(Context& c, DType dtype, const Dims& dims);
// Mean 0 and variance 1; takes two uniform numbers per element.
Value DrawNormals(Context& c, DType dtype, const Dims& dims);
// u64 bits; takes two words per element.
Value DrawBits64(Context& c, const Dims& dims);

// Exponential numbers of rate 1, never 0, from uniform ones in (0, 1].
Value Exponentials(Value open_units);

}  // namespace tpjrt::lower
