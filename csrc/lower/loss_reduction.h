// The `reduction` argument of the losses: 0 none, 1 mean, 2 sum.
#pragma once

#include "lower/context.h"

namespace tpjrt::lower {

enum class LossReduction { kNone = 0, kMean = 1, kSum = 2 };

LossReduction ReductionOf(Context& c);
// Elementwise losses reduced as asked, as result 0. The mean of nothing is NaN.
Value ReducedLoss(Context& c, Value loss);
// The gradient of the reduced loss, for each of `count` elements of dims `dims`: `grad_output`
// repeated, over `count` for the mean.
Value LossGradient(Context& c, DType dtype, const Dims& dims, int64_t count);

}  // namespace tpjrt::lower
