// Reductions that say where: argmax, max and min along a dim, medians, the mode.
// NaN counts as the largest value and wins over numbers; the first of equals is taken.
#include <limits>

#include "base/error.h"
#include "hlo/elementwise.h"
#include "hlo/shape.h"
#include "lower/families.h"
#include "lower/inclusive_scan.h"
#include "lower/reducing.h"
#include "lower/sorting.h"

namespace tpjrt::lower {
namespace {

struct Found {
  Value value, index;  // the reduced dim is dropped
};

// The first position along dim where `mask` holds; the length of dim where it never does.
Value FirstWhere(Value mask, int64_t dim) {
  Value positions = Positions(mask, dim);
  Value none = hlo::ConstantInt(mask.builder(), positions.dtype(), mask.dim(dim), mask.dims());
  return ReduceOver(Monoid::kMin, hlo::Select(mask, positions, none), {dim});
}

// Two plain reductions vectorise where one over (value, index) pairs does not.
template <bool kMax>
Found FindExtremum(Value x, int64_t dim) {
  Value best = ReduceOver(kMax ? Monoid::kMax : Monoid::kMin, x, {dim});
  Value is_best = hlo::Eq(x, Spread(best, x.dims(), {dim}));
  if (IsFloat(x.dtype())) is_best = hlo::Or(is_best, hlo::IsNan(x));
  return {best, FirstWhere(is_best, dim)};
}

Value Zero(Context& c) { return hlo::ConstantInt(c.builder(), DType::kI64, 0); }

Outcome Both(Context& c, const Found& found) {
  return {Shaped(c, found.value, 0), Finished(c, found.index, 1)};
}

template <bool kMax>
Outcome ArgExtremum(Context& c) {
  Value x = c.Tensor("self");
  Require(x.dtype() != DType::kBool, kMax ? "argmax" : "argmin", "(): does not support bool input");
  if (!c.Has("dim")) x = hlo::Flatten(x);
  if (x.rank() == 0) return Finished(c, Zero(c));
  const int64_t dim = c.Has("dim") ? Context::WrapDim(c.Int("dim"), x.rank()) : 0;
  return Finished(c, FindExtremum<kMax>(x, dim).index);
}

template <bool kMax>
Outcome ExtremumAlong(Context& c) {
  Value x = c.Tensor("self");
  if (x.rank() == 0) return Both(c, {x, Zero(c)});
  return Both(c, FindExtremum<kMax>(x, Context::WrapDim(c.Int("dim"), x.rank())));
}

// The lower median. Any NaN makes it the first NaN; with `skips_nan` they do not count, unless
// alone.
Found FindMedian(Value x, int64_t dim, bool skips_nan) {
  const Sorted sorted = SortAlong(x, dim, /*descending=*/false);
  const int64_t length = x.dim(dim);
  const int64_t middle = (length - 1) / 2;
  if (!IsFloat(x.dtype())) {
    return {hlo::SliceDim(sorted.values, dim, middle, middle + 1),
            hlo::SliceDim(sorted.indices, dim, middle, middle + 1)};
  }
  Value numbers = FirstWhere(hlo::IsNan(sorted.values), dim);
  Value position;
  if (skips_nan) {
    Value last = hlo::Max(numbers - 1.0, hlo::ZerosLike(numbers));
    position = last / hlo::ConstantLike(last, 2);
  } else {
    Value whole = hlo::Eq(numbers, static_cast<double>(length));
    position = hlo::Select(whole, hlo::ConstantLike(numbers, static_cast<double>(middle)), numbers);
  }
  return {PickAt(sorted.values, position, dim), PickAt(sorted.indices, position, dim)};
}

void RequireLength(Value x, int64_t dim, std::string_view op) {
  Require(x.dim(dim) > 0, op, "(): Expected reduction dim ", dim, " to have non-zero size.");
}

template <bool kSkipsNan>
Outcome MedianAlong(Context& c) {
  Value x = c.Tensor("self");
  if (x.rank() == 0) return Both(c, {x, Zero(c)});
  const int64_t dim = Context::WrapDim(c.Int("dim"), x.rank());
  RequireLength(x, dim, kSkipsNan ? "nanmedian" : "median");
  return Both(c, FindMedian(x, dim, kSkipsNan));
}

// NaN, or what a C cast makes of it: the lowest integer, 0 in types narrower than int.
Value MedianOfNothing(hlo::Builder& b, DType dtype) {
  if (IsFloat(dtype)) return hlo::Constant(b, dtype, std::numeric_limits<double>::quiet_NaN());
  return ItemSize(dtype) < sizeof(int) ? hlo::Constant(b, dtype, 0) : hlo::LowestValue(b, dtype);
}

template <bool kSkipsNan>
Outcome Median(Context& c) {
  Value x = hlo::Flatten(c.Tensor("self"));
  if (x.num_elements() == 0) return MedianOfNothing(c.builder(), x.dtype());
  return Shaped(c, FindMedian(x, 0, kSkipsNan).value);
}

// How long the run of equals that ends at each position of a sorted x is by then.
Value RunLengths(Value x, int64_t dim) {
  const int64_t length = x.dim(dim);
  Value positions = Positions(x, dim);
  Value starts = hlo::ZerosLike(positions);
  if (length > 1) {
    Value changes = hlo::Ne(hlo::SliceDim(x, dim, 1, length), hlo::SliceDim(x, dim, 0, length - 1));
    Value later = hlo::SliceDim(positions, dim, 1, length);
    const std::vector<Value> parts = {hlo::SliceDim(starts, dim, 0, 1),
                                      hlo::Select(changes, later, hlo::ZerosLike(later))};
    starts = hlo::Concatenate(parts, dim);
  }
  const auto combine = [](const std::vector<Value>& left, const std::vector<Value>& right) {
    return std::vector<Value>{hlo::Max(left[0], right[0])};
  };
  Value zero = hlo::Constant(x.builder(), positions.dtype(), 0);
  return positions - InclusiveScan({starts}, {zero}, dim, combine)[0] + 1.0;
}

// The smallest of the most frequent values, at its last position.
Outcome Mode(Context& c) {
  Value x = c.Tensor("self");
  if (x.rank() == 0) return Both(c, {x, Zero(c)});
  const int64_t dim = Context::WrapDim(c.Int("dim"), x.rank());
  RequireLength(x, dim, "mode");
  const bool is_bool = x.dtype() == DType::kBool;
  const Sorted sorted =
      SortAlong(is_bool ? hlo::Convert(x, DType::kU8) : x, dim, /*descending=*/false);
  Value position = FindExtremum<true>(RunLengths(sorted.values, dim), dim).index;
  return {Finished(c, PickAt(sorted.values, position, dim), 0),
          Finished(c, PickAt(sorted.indices, position, dim), 1)};
}

const Row kRows[] = {
    {"argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", ArgExtremum<true>},
    {"argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", ArgExtremum<false>},
    {"max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
     ExtremumAlong<true>},
    {"min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
     ExtremumAlong<false>},
    {"median(Tensor self) -> Tensor", Median<false>},
    {"nanmedian(Tensor self) -> Tensor", Median<true>},
    {"median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
     MedianAlong<false>},
    {"nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
     MedianAlong<true>},
    {"mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)", Mode},
};

}  // namespace

std::span<const Row> ArgReductionRows() { return kRows; }

}  // namespace tpjrt::lower
