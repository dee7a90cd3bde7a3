#include "lower/embedding_bag.h"

#include "hlo/elementwise.h"
#include "hlo/index.h"
#include "hlo/reduce.h"
#include "hlo/shape.h"
#include "lower/index_support.h"

namespace tpjrt::lower {
namespace {

using hlo::ScatterKind;

enum Mode { kSum = 0, kMean = 1, kMax = 2 };

// updates [n, D] combined into the rows of x [rows, D] named by row [n]; others are dropped.
Value ScatterRows2d(Value x, Value row, Value updates, ScatterKind kind) {
  if (updates.num_elements() == 0 || x.num_elements() == 0) return x;
  return hlo::Scatter(x, row, updates, {{1}, {0}, {0}, 1}, hlo::ScatterBody(kind));
}

// index with bad entries and `padding` sent to `rows`, where scatters drop them.
Value LiveRows(Value index, int64_t rows, int64_t padding) {
  CheckedIndex p = CheckIndex(index, rows, Negative::kOutOfRange);
  if (padding < 0) return p.index;
  Value extent = hlo::ConstantInt(index.builder(), p.index.dtype(), rows, index.dims());
  return hlo::Select(hlo::Eq(p.index, static_cast<double>(padding)), extent, p.index);
}

// How often each of `rows` occurs, as dtype.
Value CountRows(Value row, int64_t rows, DType dtype) {
  hlo::Builder& b = row.builder();
  Value zeros = hlo::Constant(b, dtype, 0, {rows});
  if (row.num_elements() == 0 || rows == 0) return zeros;
  return hlo::Put(zeros, row, hlo::Constant(b, dtype, 1, row.dims()), ScatterKind::kAdd);
}

Value AcrossColumns(Value rows, int64_t columns) {
  return hlo::BroadcastInDim(rows, {rows.dim(0), columns}, {0});
}

// The bag of each index: how many offsets lie at or before it, less one.
Value BagOf(Value offsets, int64_t count, int64_t bags) {
  hlo::Builder& b = offsets.builder();
  offsets = hlo::Convert(hlo::SliceDim(offsets, 0, 0, bags), DType::kI64);
  Value position = hlo::Iota(b, DType::kI64, {count, bags}, 0);
  Value started = hlo::Le(hlo::BroadcastInDim(offsets, {count, bags}, {1}), position);
  return hlo::ReduceSum(hlo::Convert(started, DType::kI64), {1}) - 1.0;
}

struct Bags {
  Value index, bag, live;  // [n]; live: in range and not padding, as bool
  int64_t count, bags;
};

enum class BagsFrom { kOffsets, kBagOfEach };

Bags ReadBags(Context& c, int64_t rows, int64_t bags, BagsFrom from = BagsFrom::kOffsets) {
  Value index = c.Tensor("indices");
  Bags result{index, {}, {}, index.dim(0), bags};
  result.bag = from == BagsFrom::kOffsets ? BagOf(c.Tensor("offsets"), result.count, bags)
                                          : hlo::Convert(c.Tensor("offset2bag"), DType::kI64);
  Value row = LiveRows(index, rows, c.Int("padding_idx"));
  result.live = hlo::Lt(row, static_cast<double>(rows));
  return result;
}

// bag with dead entries sent to `bags`, where scatters drop them.
Value LiveBag(const Bags& in) {
  Value none = hlo::ConstantInt(in.bag.builder(), in.bag.dtype(), in.bags, in.bag.dims());
  return hlo::Select(in.live, in.bag, none);
}

struct Maxima {
  Value values, indices;
};
// Per bag and column: the maximum and the index of the first row that has it; 0 for empty bags.
Maxima BagMaxima(const Bags& in, Value rows) {
  hlo::Builder& b = rows.builder();
  const Dims dims = {in.bags, rows.dim(1)};
  Value bag = LiveBag(in);
  Value lowest = hlo::LowestValue(b, rows.dtype(), dims);
  Value maxima = ScatterRows2d(lowest, bag, rows, ScatterKind::kMax);
  Value count = hlo::ConstantInt(b, DType::kI64, in.count, rows.dims());
  Value at = hlo::Iota(b, DType::kI64, rows.dims(), 0);
  Value candidate = hlo::Select(hlo::Eq(rows, hlo::TakeDim(maxima, in.bag, 0)), at, count);
  Value none = hlo::ConstantInt(b, DType::kI64, in.count, dims);
  Value first = ScatterRows2d(none, bag, candidate, ScatterKind::kMin);
  Value found = hlo::Lt(first, none);
  Value index = hlo::Convert(hlo::Take(in.index, first), DType::kI64);
  return {hlo::Select(found, maxima, hlo::ZerosLike(maxima)),
          hlo::Select(found, index, hlo::ZerosLike(index))};
}

Value BagSums(Context& c, const Bags& in, Value rows) {
  if (c.Has("per_sample_weights")) {
    rows = rows * AcrossColumns(c.TensorAs("per_sample_weights", rows.dtype()), rows.dim(1));
  }
  Value zeros = hlo::Constant(rows.builder(), rows.dtype(), 0, {in.bags, rows.dim(1)});
  return ScatterRows2d(zeros, LiveBag(in), rows, ScatterKind::kAdd);
}

Value FitRows(Value x, const Type& type) {
  x = hlo::Convert(x, type.dtype);
  Value zero = hlo::ConstantInt(x.builder(), type.dtype, 0);
  return hlo::Pad(x, zero, {0}, {type.dims[0] - x.dim(0)}, {0});
}

}  // namespace

Value SumRows(Value grad, Value index, int64_t rows, int64_t padding, bool by_frequency) {
  Value row = LiveRows(index, rows, padding);
  if (by_frequency && index.num_elements() > 0) {
    Value counts = CountRows(row, rows, grad.dtype());
    Value mine = hlo::Max(hlo::Take(counts, row),
                          hlo::Constant(grad.builder(), grad.dtype(), 1, {grad.dim(0)}));
    grad = grad / AcrossColumns(mine, grad.dim(1));
  }
  Value zeros = hlo::Constant(grad.builder(), grad.dtype(), 0, {rows, grad.dim(1)});
  return ScatterRows2d(zeros, row, grad, ScatterKind::kAdd);
}

Outcome EmbeddingBag(Context& c) {
  const Type out = c.Result();
  const DType compute = ComputeType(out.dtype);
  Value weight = c.TensorAs("weight", compute);
  const Bags in = ReadBags(c, weight.dim(0), out.dims[0]);
  if (in.count == 0 || in.bags == 0) return Unsupported{"an embedding bag without indices"};
  Value rows = ReadRows(weight, in.index, 0, Negative::kOutOfRange);
  Value sizes = CountRows(LiveBag(in), in.bags, DType::kI64);
  Value value, indices = hlo::ConstantInt(c.builder(), c.Result(3).dtype, 0, c.Result(3).dims);
  switch (c.Int("mode")) {
    case kMax: {
      Maxima maxima = BagMaxima(in, rows);
      value = maxima.values;
      indices = hlo::Convert(maxima.indices, c.Result(3).dtype);
      break;
    }
    case kMean: {
      Value ones = hlo::ConstantInt(c.builder(), DType::kI64, 1, sizes.dims());
      Value divisor = hlo::Convert(hlo::Max(sizes, ones), compute);
      value = BagSums(c, in, rows) / AcrossColumns(divisor, rows.dim(1));
      break;
    }
    default:
      value = BagSums(c, in, rows);
  }
  return {hlo::Convert(value, out.dtype), FitRows(in.bag, c.Result(1)), FitRows(sizes, c.Result(2)),
          indices};
}

namespace {

Outcome BagGradient(Context& c, BagsFrom from) {
  const Type out = c.Result();
  Value grad = c.TensorAs("grad", ComputeType(out.dtype));
  const int64_t rows = c.Int("num_weights");
  const int64_t columns = grad.dim(1);
  const Bags in = ReadBags(c, rows, grad.dim(0), from);
  if (in.count == 0 || in.bags == 0) return hlo::Constant(c.builder(), out.dtype, 0, out.dims);
  Value sizes = CountRows(LiveBag(in), in.bags, grad.dtype());
  if (c.Int("mode") == kMax) {
    Value index = hlo::Convert(c.Tensor("maximum_indices"), DType::kI64);
    Value column = hlo::Iota(c.builder(), DType::kI64, index.dims(), 1);
    Value position = index * static_cast<double>(columns) + column;
    Value empty = hlo::Eq(AcrossColumns(sizes, columns), 0.0);
    position = hlo::Select(empty, hlo::ConstantLike(position, static_cast<double>(rows * columns)),
                           position);
    Value zeros = hlo::Constant(c.builder(), grad.dtype(), 0, {rows * columns});
    Value sums = hlo::Put(zeros, position, grad, ScatterKind::kAdd);
    return hlo::Convert(hlo::Reshape(sums, out.dims), out.dtype);
  }
  if (c.Int("mode") == kMean) {
    Value ones = hlo::ConstantLike(sizes, 1);
    grad = grad / AcrossColumns(hlo::Max(sizes, ones), columns);
  }
  Value mine = hlo::TakeDim(grad, in.bag, 0);
  if (c.Has("per_sample_weights")) {
    mine = mine * AcrossColumns(c.TensorAs("per_sample_weights", grad.dtype()), columns);
  }
  Value sums = SumRows(mine, in.index, rows, c.Int("padding_idx"), c.Bool("scale_grad_by_freq"));
  return hlo::Convert(sums, out.dtype);
}

}  // namespace

Outcome EmbeddingBagBackward(Context& c) {
  if (c.Bool("sparse")) return Unsupported{"sparse gradients"};
  return BagGradient(c, BagsFrom::kOffsets);
}

Outcome EmbeddingBagDenseBackward(Context& c) { return BagGradient(c, BagsFrom::kBagOfEach); }

Outcome EmbeddingBagWeightsBackward(Context& c) {
  const Type out = c.Result();
  const DType compute = ComputeType(out.dtype);
  Value grad = c.TensorAs("grad", compute);
  Value weight = c.TensorAs("weight", compute);
  const Bags in = ReadBags(c, weight.dim(0), grad.dim(0));
  if (in.count == 0 || in.bags == 0) return hlo::Constant(c.builder(), out.dtype, 0, out.dims);
  Value rows = ReadRows(weight, in.index, 0, Negative::kOutOfRange);
  Value products = hlo::ReduceSum(rows * hlo::TakeDim(grad, in.bag, 0), {1});
  return hlo::Convert(hlo::Select(in.live, products, hlo::ZerosLike(products)), out.dtype);
}

}  // namespace tpjrt::lower
