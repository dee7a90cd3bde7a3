// What every family that reduces along dims shares: which dims, the monoids with PyTorch's meaning,
// and the way back from a reduced value to the full shape.
#pragma once

#include <string_view>

#include "hlo/reduce.h"
#include "lower/context.h"

namespace tpjrt::lower {

enum class Monoid { kSum, kProd, kMax, kMin, kAnd, kOr };

Dims AllDims(int64_t rank);
// Non-negative, sorted, without the dim 0 that PyTorch allows for rank 0.
Dims WrapDims(const Dims& dims, int64_t rank);
// An int[]? argument: None and the empty list mean every dim.
Dims ListedDims(Context& c, std::string_view name, int64_t rank);
// An int? argument: None means every dim.
Dims OneDim(Context& c, std::string_view name, int64_t rank);
// The dims that are not in `dims` (sorted).
Dims OtherDims(const Dims& dims, int64_t rank);
// The number of elements that are reduced into one.
int64_t Count(const Dims& full, const Dims& reduced);

// Reduces and drops `dims`. No dims: x itself. Sum and product of bool are "or" and "and"; the
// extrema propagate NaN; over nothing they give the dtype's far end.
Value ReduceOver(Monoid monoid, Value x, const Dims& dims);
// A value reduced over `reduced`, repeated back to the dims `full`.
Value Spread(Value x, const Dims& full, const Dims& reduced);
// A vector along dim `dim` (or a value of rank 0) repeated to `full`.
Value SpreadDim(Value x, const Dims& full, int64_t dim);

// Float or complex x. Over nothing: NaN.
Value MeanOver(Value x, const Dims& dims);
// The sum of |x - mean|^2 in two passes; `mean` as MeanOver gives it. Real.
Value SquaredDeviations(Value x, Value mean, const Dims& dims);
// |x|^2, real.
Value AbsSquared(Value x);

// x with the dims of result `i`: puts back kept dims, or drops them.
Value Shaped(Context& c, Value x, int i = 0);
// The same, and converted to the dtype of result `i`.
Value Finished(Context& c, Value x, int i = 0);
// The same for a given type: for ops without a meta kernel, whose results nobody has told.
Value FinishedAs(Value x, const Type& type);
// A rank-0 value repeated to `dims`.
Value Splat(Value scalar, const Dims& dims);

// An iota along `dim`, i32 where the length fits, otherwise i64.
Value Positions(Value x, int64_t dim);
// The element at `position` (x's dims without dim) along dim; x unchanged elsewhere. A one-hot
// reduction, not a gather: it fuses with what made x.
Value PickAt(Value x, Value position, int64_t dim);

}  // namespace tpjrt::lower
