// Sorting, the k best, and binary search in sorted sequences.
#include <limits>

#include "base/error.h"
#include "hlo/control.h"
#include "hlo/elementwise.h"
#include "hlo/index.h"
#include "hlo/linalg.h"
#include "hlo/shape.h"
#include "lower/families.h"
#include "lower/reducing.h"
#include "lower/sorting.h"

namespace tpjrt::lower {
namespace {

Outcome Sort(Context& c) {
  Value x = c.Tensor("self");
  const Sorted sorted =
      SortAlong(x, Context::WrapDim(c.Int("dim"), x.rank()), c.Bool("descending"));
  return {sorted.values, hlo::Convert(sorted.indices, DType::kI64)};
}

// The few largest of many floats: worth the compilers' own selection instead of a sort.
bool SelectsFew(const Type& type, int64_t dim, int64_t k, bool largest) {
  constexpr int64_t kMany = 256;
  constexpr int64_t kFew = 8;  // one in kFew
  if (type.dtype == DType::kF64 || !IsFloat(type.dtype) || type.rank() == 0) return false;
  const int64_t length = type.dims[static_cast<size_t>(dim)];
  return largest && k > 0 && length >= kMany && k * kFew <= length;
}

// That selection orders floats totally: without their signs, NaN is the largest and zeros are
// equal.
Sorted SelectFew(Value x, int64_t dim, int64_t k) {
  Value numbers = hlo::Convert(x, DType::kF32);
  numbers = hlo::Select(hlo::Eq(numbers, 0.0), hlo::ZerosLike(numbers), numbers);
  Value nan = hlo::ConstantLike(numbers, std::numeric_limits<double>::quiet_NaN());
  numbers = hlo::Select(hlo::IsNan(numbers), nan, numbers);
  const int64_t last = x.rank() - 1;
  const std::vector<Value> best = hlo::TopK(hlo::SwapDims(numbers, dim, last), k);
  return {hlo::Convert(hlo::SwapDims(best[0], dim, last), x.dtype()),
          hlo::SwapDims(best[1], dim, last)};
}

Outcome TopK(Context& c) {
  Value x = c.Tensor("self");
  const int64_t dim = Context::WrapDim(c.Int("dim"), x.rank());
  const int64_t k = c.Int("k");
  if (SelectsFew(x.type(), dim, k, c.Bool("largest"))) {
    const Sorted best = SelectFew(x, dim, k);
    return {best.values, hlo::Convert(best.indices, DType::kI64)};
  }
  const Sorted sorted = SortAlong(x, dim, c.Bool("largest"));
  if (x.rank() == 0) {
    return {hlo::BroadcastTo(sorted.values, c.Result(0).dims),
            hlo::Constant(c.builder(), DType::kI64, 0, c.Result(1).dims)};
  }
  return {hlo::SliceDim(sorted.values, dim, 0, k),
          hlo::Convert(hlo::SliceDim(sorted.indices, dim, 0, k), DType::kI64)};
}

Outcome KthValue(Context& c) {
  Value x = c.Tensor("self");
  const int64_t dim = Context::WrapDim(c.Int("dim"), x.rank());
  const Sorted sorted = SortAlong(x, dim, /*descending=*/false);
  if (x.rank() == 0) return {Shaped(c, sorted.values, 0), Finished(c, sorted.indices, 1)};
  const int64_t length = x.dim(dim);
  const int64_t k = c.Int("k");
  Require(length > 0, "kthvalue(): Expected reduction dim ", dim, " to have non-zero size.");
  Require(k >= 1 && k <= length, "kthvalue(): selected number k out of range for dimension ", dim);
  return {Shaped(c, hlo::SliceDim(sorted.values, dim, k - 1, k), 0),
          Finished(c, hlo::SliceDim(sorted.indices, dim, k - 1, k), 1)};
}

// One row of sorted numbers per row of queries; or one row for all.
struct Search {
  Value sequence;  // flat
  Value sorter;    // flat i64, may be invalid
  Value queries;
  Value row_start;     // i64, the queries' dims: where each query's row begins in `sequence`
  int64_t length = 0;  // of a row
  bool right = false;
};

Value Middle(const Search& s, Value low, Value high) {
  Value middle = low + hlo::ShiftRightLogical(high - low, hlo::ConstantLike(low, 1));
  return hlo::Min(middle, hlo::ConstantInt(low.builder(), low.dtype(), s.length - 1, low.dims()));
}

// The step of PyTorch's binary search, on all queries at once: where unordered sequences or NaN
// make the answer depend on the path, it is the same path.
std::vector<Value> Step(const Search& s, Value low, Value high) {
  Value middle = Middle(s, low, high);
  Value at = s.row_start + middle;
  if (s.sorter.valid()) at = s.row_start + hlo::Take(s.sorter, at);
  Value seen = hlo::Take(s.sequence, at);
  Value stays = s.right ? hlo::Gt(seen, s.queries) : hlo::Ge(seen, s.queries);
  Value open = hlo::Lt(low, high);
  Value goes_right = hlo::And(open, hlo::Not(stays));
  Value goes_left = hlo::And(open, stays);
  return {hlo::Select(goes_right, middle + 1.0, low), hlo::Select(goes_left, middle, high)};
}

Value Run(const Search& s) {
  hlo::Builder& b = s.queries.builder();
  const Dims& dims = s.queries.dims();
  Value low = hlo::ConstantInt(b, DType::kI64, 0, dims);
  if (s.length == 0 || hlo::NumElements(dims) == 0) return low;
  Value high = hlo::ConstantInt(b, DType::kI64, s.length, dims);
  int64_t steps = 0;
  while ((int64_t{1} << steps) <= s.length) ++steps;
  const std::vector<Value> bounds = {low, high};
  return hlo::ForLoop(b, steps, bounds, [&s](hlo::Builder&, std::span<const Value> state) {
    return Step(s, state[state.size() - 2], state[state.size() - 1]);
  })[0];
}

Value RowStarts(hlo::Builder& b, const Dims& query_dims, int64_t length, bool shared) {
  if (shared || query_dims.empty()) return hlo::ConstantInt(b, DType::kI64, 0, query_dims);
  Dims rows(query_dims.begin(), query_dims.end() - 1);
  Value row = hlo::Reshape(hlo::Iota(b, DType::kI64, {hlo::NumElements(rows)}, 0), rows);
  Value start = row * static_cast<double>(length);
  return Spread(start, query_dims, {static_cast<int64_t>(query_dims.size()) - 1});
}

Outcome RunSearch(Context& c, Value sequence, Value queries, bool right, Value sorter) {
  Search s;
  s.length = sequence.rank() == 0 ? 1 : sequence.dim(-1);
  s.right = right;
  s.queries = queries;
  s.row_start = RowStarts(c.builder(), queries.dims(), s.length, sequence.rank() <= 1);
  s.sequence = hlo::Flatten(sequence);
  if (sorter.valid()) s.sorter = hlo::Flatten(sorter);
  return Finished(c, Run(s));
}

template <bool kScalar>
Outcome SearchSorted(Context& c) {
  const DType dtype = c.Promoted({"sorted_sequence", "self"});
  Value queries = kScalar ? c.Scalar("self", dtype) : c.TensorAs("self", dtype);
  const std::string side = c.Has("side") ? c.String("side") : "";
  Require(side.empty() || side == "left" || side == "right",
          "torch.searchsorted(): side can only be 'left' or 'right' but got ", side);
  Require(side != "left" || !c.Bool("right"),
          "torch.searchsorted(): side and right can't be set to opposites, got side of left while "
          "right was True");
  Value sorter = c.Has("sorter") ? c.TensorAs("sorter", DType::kI64) : Value();
  return RunSearch(c, c.TensorAs("sorted_sequence", dtype), queries,
                   c.Bool("right") || side == "right", sorter);
}

template <bool kScalar>
Outcome Bucketize(Context& c) {
  const DType dtype = c.Promoted({"boundaries", "self"});
  Value queries = kScalar ? c.Scalar("self", dtype) : c.TensorAs("self", dtype);
  return RunSearch(c, c.TensorAs("boundaries", dtype), queries, c.Bool("right"), Value());
}

// Equal bins over [min, max]; min == max means the data's own range.
Outcome Histc(Context& c) {
  const DType dtype = c.TensorType("self").dtype;
  const int64_t bins = c.Int("bins");
  Require(bins > 0, "torch.histc(): bins must be > 0, but got ", bins);
  hlo::Builder& b = c.builder();
  Value x = hlo::Flatten(c.TensorAs("self", ComputeType(dtype)));
  Value low = c.Scalar("min", x.dtype()), high = c.Scalar("max", x.dtype());
  if (x.num_elements() == 0) return hlo::Constant(b, dtype, 0, {bins});
  Value own_range = hlo::Eq(low, high);
  low = hlo::Select(own_range, ReduceOver(Monoid::kMin, x, {0}), low);
  high = hlo::Select(own_range, ReduceOver(Monoid::kMax, x, {0}), high);
  Value flat = hlo::Eq(low, high);
  low = hlo::Select(flat, low - 1.0, low);
  high = hlo::Select(flat, high + 1.0, high);
  Value offset = x - Splat(low, x.dims());
  Value position = offset * static_cast<double>(bins) / Splat(high - low, x.dims());
  Value inside = hlo::And(hlo::Ge(x, Splat(low, x.dims())), hlo::Le(x, Splat(high, x.dims())));
  Value zero = hlo::ZerosLike(position);
  Value bin = hlo::Convert(hlo::Select(inside, position, zero), DType::kI32);
  bin = hlo::Min(bin, hlo::ConstantLike(bin, static_cast<double>(bins - 1)));
  bin = hlo::Select(inside, bin, hlo::ConstantLike(bin, -1));
  Value one = hlo::ConstantLike(x, 1);
  Value counts = hlo::Put(hlo::Constant(b, x.dtype(), 0, {bins}), bin, one, hlo::ScatterKind::kAdd);
  return Finished(c, counts);
}

const Row kRows[] = {
    {"sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
     Sort},
    {"sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor "
     "values, Tensor indices)",
     Sort},
    {"topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor "
     "values, "
     "Tensor indices)",
     TopK},
    {"kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor "
     "indices)",
     KthValue},
    {"searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool "
     "right=False, str? side=None, Tensor? sorter=None) -> Tensor",
     SearchSorted<false>},
    {"searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool "
     "right=False, str? side=None, Tensor? sorter=None) -> Tensor",
     SearchSorted<true>},
    {"bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) "
     "-> "
     "Tensor",
     Bucketize<false>},
    {"bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) "
     "-> "
     "Tensor",
     Bucketize<true>},
    {"histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor", Histc},
};

}  // namespace

std::span<const Row> SortRows() { return kRows; }

}  // namespace tpjrt::lower
