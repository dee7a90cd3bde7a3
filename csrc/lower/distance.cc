// Pairwise p-norm distances, their backward, and renorm.
#include <cmath>

#include "base/error.h"
#include "hlo/elementwise.h"
#include "hlo/index.h"
#include "hlo/linalg.h"
#include "hlo/shape.h"
#include "lower/families.h"
#include "lower/reducing.h"

namespace tpjrt::lower {
namespace {

// The p-norm over `dims` of differences.
Value NormOver(Value d, double p, const Dims& dims) {
  if (p == 0) {
    Value nonzero = hlo::Convert(hlo::Ne(d, 0.0), d.dtype());
    return ReduceOver(Monoid::kSum, nonzero, dims);
  }
  if (p == 2) return hlo::Sqrt(ReduceOver(Monoid::kSum, d * d, dims));
  Value magnitude = hlo::Abs(d);
  if (std::isinf(p)) {
    Value top = ReduceOver(Monoid::kMax, magnitude, dims);
    return hlo::Max(top, hlo::ZerosLike(top));  // over nothing: 0
  }
  if (p == 1) return ReduceOver(Monoid::kSum, magnitude, dims);
  Value sum = ReduceOver(Monoid::kSum, hlo::Pow(magnitude, hlo::ConstantLike(d, p)), dims);
  return hlo::Pow(sum, hlo::ConstantLike(sum, 1.0 / p));
}

// d norm / d difference times grad; `norm` and `grad` have d's dims.
Value NormSlope(Value d, double p, Value norm, Value grad) {
  Value zero = hlo::ZerosLike(d);
  if (p == 0) return zero;
  if (p == 1) return grad * hlo::Sign(d);
  if (std::isinf(p)) {
    return hlo::Select(hlo::Eq(hlo::Abs(d), norm), grad * hlo::Sign(d), zero);
  }
  Value slope;
  if (p == 2) {
    slope = grad * d / norm;
  } else {
    Value power = hlo::ConstantLike(d, p - 1.0);
    slope = hlo::Sign(d) * hlo::Pow(hlo::Abs(d), power) * grad / hlo::Pow(norm, power);
  }
  Value flat = hlo::Eq(norm, 0.0);
  if (p < 1) flat = hlo::Or(flat, hlo::Eq(d, 0.0));
  return hlo::Select(flat, zero, slope);
}

// x1 [batch, p, m] and x2 [batch, r, m] with equal batch dims, flattened into one.
struct Points {
  Value x1, x2;
  int64_t batch() const { return x1.dim(0); }
  Dims Cube() const { return {x1.dim(0), x1.dim(1), x2.dim(1), x1.dim(2)}; }
  Value Differences() const {
    return hlo::BroadcastInDim(x1, Cube(), {0, 1, 3}) - hlo::BroadcastInDim(x2, Cube(), {0, 2, 3});
  }
};

Value Batched(Value x, const Dims& batch) {
  const Dims tail(x.dims().end() - 2, x.dims().end());
  Dims full = batch;
  full.insert(full.end(), tail.begin(), tail.end());
  return hlo::Reshape(hlo::BroadcastTo(x, full), {hlo::NumElements(batch), tail[0], tail[1]});
}

Points PointsOf(Context& c) {
  const DType dtype = ComputeType(c.TensorType("x1").dtype);
  Value x1 = c.TensorAs("x1", dtype), x2 = c.TensorAs("x2", dtype);
  const Dims batch1(x1.dims().begin(), x1.dims().end() - 2);
  const Dims batch2(x2.dims().begin(), x2.dims().end() - 2);
  const Dims batch = hlo::BroadcastDims(batch1, batch2);
  return {Batched(x1, batch), Batched(x2, batch)};
}

// |a|^2 + |b|^2 - 2 a.b: one contraction instead of a cube, at the price of cancellation.
Value EuclideanByProduct(const Points& points) {
  Value norm1 = ReduceOver(Monoid::kSum, points.x1 * points.x1, {2});
  Value norm2 = ReduceOver(Monoid::kSum, points.x2 * points.x2, {2});
  const hlo::DotDims dims{
      .lhs_batch = {0}, .rhs_batch = {0}, .lhs_contract = {2}, .rhs_contract = {2}};
  Value product = hlo::DotGeneral(points.x1, points.x2, dims, points.x1.dtype());
  Value squared = hlo::BroadcastInDim(norm1, product.dims(), {0, 1}) +
                  hlo::BroadcastInDim(norm2, product.dims(), {0, 2}) - product * 2.0;
  return hlo::Sqrt(hlo::Max(squared, hlo::ZerosLike(squared)));
}

// compute_mode: 0 or None the product for more than 25 points, 1 always, 2 never.
bool UsesProduct(Context& c, const Points& points, double p) {
  if (p != 2) return false;
  const int64_t mode = c.Has("compute_mode") ? c.Int("compute_mode") : 0;
  if (mode != 0) return mode == 1;
  return points.x1.dim(1) > 25 || points.x2.dim(1) > 25;
}

Outcome CDist(Context& c) {
  const double p = c.StaticDouble("p");
  const Points points = PointsOf(c);
  if (UsesProduct(c, points, p)) return Finished(c, EuclideanByProduct(points));
  return Finished(c, NormOver(points.Differences(), p, {3}));
}

Outcome CDistBackward(Context& c) {
  const Points points = PointsOf(c);
  const Dims cube = points.Cube();
  const Dims matrix(cube.begin(), cube.end() - 1);
  const DType dtype = points.x1.dtype();
  Value grad = Spread(hlo::Reshape(c.TensorAs("grad", dtype), matrix), cube, {3});
  Value norm = Spread(hlo::Reshape(c.TensorAs("cdist", dtype), matrix), cube, {3});
  Value slope = NormSlope(points.Differences(), c.StaticDouble("p"), norm, grad);
  return Finished(c, ReduceOver(Monoid::kSum, slope, {2}));
}

// The rows of the k-th pair (i, j), i < j, in the order (0, 1), (0, 2), ..., (1, 2), ...
struct Pairs {
  Value first, second;
};

// A table of where each row's pairs begin is searched for k: exact, and small in the program.
Pairs PairsOf(hlo::Builder& b, int64_t rows) {
  const int64_t count = rows * (rows - 1) / 2;
  Value k = hlo::Iota(b, DType::kI64, {count}, 0);
  Value row = hlo::Iota(b, DType::kI64, {rows}, 0);
  // Row i begins at i * rows - i * (i + 1) / 2.
  Value begin = row * static_cast<double>(rows) - row * (row + 1.0) / hlo::ConstantLike(row, 2);
  Value first = hlo::ConstantLike(k, 0);
  int64_t stride = 1;
  while (stride * 2 < rows) stride *= 2;
  for (; stride > 0; stride /= 2) {
    Value candidate = first + static_cast<double>(stride);
    Value limit = hlo::ConstantLike(candidate, static_cast<double>(rows - 1));
    Value fits = hlo::And(hlo::Lt(candidate, limit), hlo::Le(hlo::Take(begin, candidate), k));
    first = hlo::Select(fits, candidate, first);
  }
  return {first, k - hlo::Take(begin, first) + first + 1.0};
}

Outcome PDist(Context& c) {
  Value x = c.TensorAs("self", ComputeType(c.TensorType("self").dtype));
  if (hlo::NumElements(c.Result().dims) == 0) {
    return hlo::Constant(c.builder(), c.Result().dtype, 0, c.Result().dims);
  }
  const Pairs pairs = PairsOf(c.builder(), x.dim(0));
  Value d = hlo::TakeDim(x, pairs.first, 0) - hlo::TakeDim(x, pairs.second, 0);
  return Finished(c, NormOver(d, c.StaticDouble("p"), {1}));
}

Outcome PDistBackward(Context& c) {
  Value x = c.TensorAs("self", ComputeType(c.TensorType("self").dtype));
  Value zeros = hlo::ZerosLike(x);
  if (x.dim(0) < 2 || x.dim(1) == 0) return Finished(c, zeros);
  const Pairs pairs = PairsOf(c.builder(), x.dim(0));
  Value d = hlo::TakeDim(x, pairs.first, 0) - hlo::TakeDim(x, pairs.second, 0);
  Value grad = Spread(c.TensorAs("grad", x.dtype()), d.dims(), {1});
  Value norm = Spread(c.TensorAs("pdist", x.dtype()), d.dims(), {1});
  Value slope = NormSlope(d, c.StaticDouble("p"), norm, grad);
  const hlo::ScatterDims rows{.update_window_dims = {1},
                              .inserted_window_dims = {0},
                              .scatter_dims_to_operand_dims = {0},
                              .index_vector_dim = 1};
  const hlo::Region add = hlo::ScatterBody(hlo::ScatterKind::kAdd);
  Value sum = hlo::Scatter(zeros, pairs.first, slope, rows, add);
  return Finished(c, hlo::Scatter(sum, pairs.second, -slope, rows, add));
}

// Scales down the slices along dim whose p-norm exceeds maxnorm.
Outcome Renorm(Context& c) {
  const DType dtype = c.TensorType("self").dtype;
  Value x = c.TensorAs("self", ComputeType(dtype));
  const int64_t dim = Context::WrapDim(c.Int("dim"), x.rank());
  Value magnitude = hlo::Abs(x);
  Value norm = NormOver(magnitude, c.StaticDouble("p"), OtherDims({dim}, x.rank()));
  Value limit = Splat(c.Scalar("maxnorm", norm.dtype()), norm.dims());
  Value scale =
      hlo::Select(hlo::Gt(norm, limit), limit / (norm + 1e-7), hlo::ConstantLike(norm, 1));
  return Finished(c, x * hlo::Convert(SpreadDim(scale, x.dims(), dim), x.dtype()));
}

constexpr Traits kStaticP{.static_scalars = "p"};

const Row kRows[] = {
    {"_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor", CDist, kStaticP},
    {"_cdist_backward(Tensor grad, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor",
     CDistBackward, kStaticP},
    {"_pdist_forward(Tensor self, float p=2.) -> Tensor", PDist, kStaticP},
    {"_pdist_backward(Tensor grad, Tensor self, float p, Tensor pdist) -> Tensor", PDistBackward,
     kStaticP},
    {"renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor", Renorm, kStaticP},
};

}  // namespace

std::span<const Row> DistanceRows() { return kRows; }

}  // namespace tpjrt::lower
