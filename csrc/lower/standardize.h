// (x - mean) / sqrt(variance + eps) over some dims and its derivative: the core of every norm.
#pragma once

#include "lower/context.h"

namespace tpjrt::lower {

struct Standardized {
  Value normal;         // x's dims
  Value mean, inverse;  // 1 / sqrt(variance + eps); the reduced dims are dropped
  Value variance;       // biased
};

// The variance in two passes. `eps` has rank 0.
Standardized Standardize(Value x, const Dims& dims, Value eps);
// The same from known statistics (reduced dims dropped).
Value StandardizeWith(Value x, Value mean, Value inverse, const Dims& dims);
// d/dx, for the gradient `grad` of the normalised value.
Value StandardizeBackward(Value grad, Value normal, Value inverse, const Dims& dims);

}  // namespace tpjrt::lower
