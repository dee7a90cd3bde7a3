#include "lower/reducing.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "hlo/elementwise.h"
#include "hlo/shape.h"

namespace tpjrt::lower {
namespace {

Monoid Effective(Monoid monoid, DType dtype) {
  if (dtype != DType::kBool) return monoid;
  switch (monoid) {
    case Monoid::kSum:
    case Monoid::kMax:
      return Monoid::kOr;
    case Monoid::kProd:
    case Monoid::kMin:
      return Monoid::kAnd;
    default:
      return monoid;
  }
}

}  // namespace

Dims AllDims(int64_t rank) {
  Dims dims(static_cast<size_t>(rank));
  for (int64_t i = 0; i < rank; ++i) dims[static_cast<size_t>(i)] = i;
  return dims;
}

Dims WrapDims(const Dims& dims, int64_t rank) {
  if (rank == 0) return {};
  Dims wrapped;
  for (int64_t dim : dims) wrapped.push_back(Context::WrapDim(dim, rank));
  std::sort(wrapped.begin(), wrapped.end());
  return wrapped;
}

Dims ListedDims(Context& c, std::string_view name, int64_t rank) {
  if (!c.Has(name)) return AllDims(rank);
  Dims dims = c.Ints(name);
  return dims.empty() ? AllDims(rank) : WrapDims(dims, rank);
}

Dims OneDim(Context& c, std::string_view name, int64_t rank) {
  return c.Has(name) ? WrapDims({c.Int(name)}, rank) : AllDims(rank);
}

Dims OtherDims(const Dims& dims, int64_t rank) {
  Dims others;
  for (int64_t i = 0; i < rank; ++i) {
    if (!std::binary_search(dims.begin(), dims.end(), i)) others.push_back(i);
  }
  return others;
}

int64_t Count(const Dims& full, const Dims& reduced) {
  int64_t count = 1;
  for (int64_t dim : reduced) count *= full[static_cast<size_t>(dim)];
  return count;
}

Value ReduceOver(Monoid monoid, Value x, const Dims& dims) {
  if (dims.empty()) return x;
  switch (Effective(monoid, x.dtype())) {
    case Monoid::kSum:
      return hlo::ReduceSum(x, dims);
    case Monoid::kProd:
      return hlo::ReduceProd(x, dims);
    case Monoid::kMax:
      return hlo::ReduceMax(x, dims);
    case Monoid::kMin:
      return hlo::ReduceMin(x, dims);
    case Monoid::kAnd:
      return hlo::ReduceAnd(x, dims);
    case Monoid::kOr:
      return hlo::ReduceOr(x, dims);
  }
  Fail(ErrorCode::kInternal, "unknown monoid");
}

Value Spread(Value x, const Dims& full, const Dims& reduced) {
  return hlo::BroadcastInDim(x, full, OtherDims(reduced, static_cast<int64_t>(full.size())));
}

Value SpreadDim(Value x, const Dims& full, int64_t dim) {
  return hlo::BroadcastInDim(x, full, x.rank() == 0 ? Dims{} : Dims{dim});
}

Value MeanOver(Value x, const Dims& dims) {
  const auto count = static_cast<double>(Count(x.dims(), dims));
  return ReduceOver(Monoid::kSum, x, dims) / count;
}

Value AbsSquared(Value x) {
  if (!IsComplex(x.dtype())) return x * x;
  Value re = hlo::Real(x);
  Value im = hlo::Imag(x);
  return re * re + im * im;
}

Value SquaredDeviations(Value x, Value mean, const Dims& dims) {
  return ReduceOver(Monoid::kSum, AbsSquared(x - Spread(mean, x.dims(), dims)), dims);
}

Value Shaped(Context& c, Value x, int i) { return hlo::Reshape(x, c.Result(i).dims); }

Value Finished(Context& c, Value x, int i) { return FinishedAs(x, c.Result(i)); }

Value FinishedAs(Value x, const Type& type) {
  return hlo::Reshape(hlo::Convert(x, type.dtype), type.dims);
}

Value Splat(Value scalar, const Dims& dims) { return hlo::BroadcastInDim(scalar, dims, {}); }

Value Positions(Value x, int64_t dim) {
  const bool fits = x.dim(dim) <= std::numeric_limits<int32_t>::max();
  return hlo::Iota(x.builder(), fits ? DType::kI32 : DType::kI64, x.dims(), dim);
}

Value PickAt(Value x, Value position, int64_t dim) {
  Value here = hlo::Eq(Positions(x, dim), Spread(position, x.dims(), {dim}));
  return ReduceOver(Monoid::kSum, hlo::Select(here, x, hlo::ZerosLike(x)), {dim});
}

}  // namespace tpjrt::lower
