// Reads at computed positions. What an index out of range gives is in index_support.h.
#include <cmath>

#include "base/error.h"
#include "hlo/elementwise.h"
#include "hlo/index.h"
#include "hlo/reduce.h"
#include "hlo/shape.h"
#include "lower/embedding_bag.h"
#include "lower/families.h"
#include "lower/index_support.h"
#include "lower/prefix_sum.h"

namespace tpjrt::lower {
namespace {

Outcome Index(Context& c) {
  const std::vector<Value> indices = c.TensorList("indices");
  if (HasMask(indices)) return Unsupported{"a mask among the indices"};
  Value self = c.Tensor("self");
  return ReadAdvanced(self, PlanAdvancedIndex(self.dims(), indices));
}

Outcome Gather(Context& c) {
  Value self = c.Tensor("self");
  Value index = c.Tensor("index");
  const Dims dims = self.rank() == 0 ? Dims{1} : self.dims();
  const int64_t dim = Context::WrapDim(c.Int("dim"), self.rank());
  const Value bad = BadRead(c.builder(), self.dtype(), c.Result().dims);
  if (index.num_elements() == 0) return bad;
  if (index.rank() == 0) index = hlo::Unsqueeze(index, 0);
  CheckedIndex p = AlongDim(dims, dim, index);
  if (self.num_elements() == 0) return bad;
  Value read = hlo::Take(hlo::Flatten(self), p.index);
  read = hlo::Select(p.valid, read, BadRead(c.builder(), read.dtype(), read.dims()));
  return hlo::Reshape(read, c.Result().dims);
}

Outcome IndexSelect(Context& c) {
  Value self = c.Tensor("self");
  const int64_t dim = Context::WrapDim(c.Int("dim"), self.rank());
  if (self.rank() == 0) self = hlo::Unsqueeze(self, 0);
  Value read = ReadRows(self, hlo::Flatten(c.Tensor("index")), dim, Negative::kOutOfRange);
  return hlo::Reshape(read, c.Result().dims);
}

Outcome Take(Context& c) { return ReadFlat(c.Tensor("self"), c.Tensor("index"), Negative::kWraps); }

// p-norms of the rows of [n, D].
Value RowNorms(Value rows, double p) {
  Value size = hlo::Abs(rows);
  if (std::isinf(p)) return hlo::ReduceMax(size, {1});
  if (p == 1) return hlo::ReduceSum(size, {1});
  if (p == 2) return hlo::Sqrt(hlo::ReduceSum(size * size, {1}));
  Value sum = hlo::ReduceSum(hlo::Pow(size, hlo::ConstantLike(size, p)), {1});
  return hlo::Pow(sum, hlo::ConstantLike(sum, 1 / p));
}

Outcome Embedding(Context& c) {
  return ReadRows(c.Tensor("weight"), c.Tensor("indices"), 0, Negative::kOutOfRange);
}

// Row sums are kept in float32 for half types and rounded once.
Outcome EmbeddingDenseBackward(Context& c) {
  const Type& result = c.Result();
  const DType compute = ComputeType(result.dtype);
  const int64_t rows = c.Int("num_weights");
  Value index = hlo::Flatten(c.Tensor("indices"));
  const int64_t n = index.dim(0);
  Value grad = hlo::Reshape(c.TensorAs("grad_output", compute), {n, result.dims.at(1)});
  Value sums = SumRows(grad, index, rows, c.Int("padding_idx"), c.Bool("scale_grad_by_freq"));
  return hlo::Convert(sums, result.dtype);
}

// Rows longer than max_norm are shortened to it. A row that is named twice is written twice, alike.
Outcome EmbeddingRenorm(Context& c) {
  const Type& out = c.Result();
  const DType compute = ComputeType(out.dtype);
  Value self = c.Tensor("self");
  Value index = hlo::Flatten(c.Tensor("indices"));
  if (index.num_elements() == 0 || self.num_elements() == 0) return self;
  CheckedIndex at = CheckIndex(index, self.dim(0), Negative::kOutOfRange);
  Value rows = hlo::Convert(hlo::TakeDim(self, at.index, 0), compute);
  Value norm = RowNorms(rows, c.StaticDouble("norm_type"));
  Value limit = hlo::BroadcastInDim(c.Scalar("max_norm", compute), norm.dims(), {});
  Value factor =
      hlo::Select(hlo::Gt(norm, limit), limit / (norm + 1e-7), hlo::ConstantLike(norm, 1));
  rows = hlo::Convert(rows * hlo::BroadcastInDim(factor, rows.dims(), {0}), out.dtype);
  return hlo::Scatter(self, at.index, rows, {{1}, {0}, {0}, 1},
                      hlo::ScatterBody(hlo::ScatterKind::kSet));
}

// The positions of the true elements, row-major, at the head of [numel, rank]; then their count.
struct TruePositions {
  Value coordinates;
  Value count;
};
TruePositions FindTrue(Value self, int64_t capacity, Value fill) {
  hlo::Builder& b = self.builder();
  const int64_t n = self.num_elements(), rank = self.rank();
  Value mask = hlo::Flatten(hlo::Convert(self, DType::kBool));
  Value running = PrefixSum(hlo::Convert(mask, DType::kI64));
  Value slot = hlo::Select(mask, running - 1.0, hlo::ConstantInt(b, DType::kI64, capacity, {n}));
  std::vector<Value> columns;
  Value blank = hlo::BroadcastInDim(fill, {capacity}, {});
  for (int64_t d = 0; d < rank; ++d) {
    Value coordinate = hlo::Flatten(hlo::Iota(b, DType::kI64, self.dims(), d));
    columns.push_back(hlo::Put(blank, slot, coordinate, hlo::ScatterKind::kSet));
  }
  Value coordinates =
      columns.empty() ? hlo::ConstantInt(b, DType::kI64, 0, {capacity, 0}) : hlo::Stack(columns, 1);
  return {coordinates, hlo::Reshape(hlo::SliceDim(running, 0, n - 1, n), {})};
}

Outcome Nonzero(Context& c) {
  Value self = c.Tensor("self");
  Value zero = hlo::ConstantInt(c.builder(), DType::kI64, 0);
  if (self.num_elements() == 0) {
    return {hlo::ConstantInt(c.builder(), DType::kI64, 0, {0, self.rank()}), zero};
  }
  TruePositions found = FindTrue(self, self.num_elements(), zero);
  return {found.coordinates, found.count};
}

Outcome NonzeroStatic(Context& c) {
  Value self = c.Tensor("self");
  Value fill = hlo::ConstantInt(c.builder(), DType::kI64, c.Int("fill_value"));
  if (hlo::NumElements(c.Result().dims) == 0 || self.num_elements() == 0) {
    return hlo::BroadcastInDim(fill, c.Result().dims, {});
  }
  return FindTrue(self, c.Int("size"), fill).coordinates;
}

const Row kRows[] = {
    {"index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", Index},
    {"gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor", Gather},
    {"index_select(Tensor self, int dim, Tensor index) -> Tensor", IndexSelect},
    {"take(Tensor self, Tensor index) -> Tensor", Take},
    {"embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool "
     "scale_grad_by_freq=False, bool sparse=False) -> Tensor",
     Embedding},
    {"embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt "
     "padding_idx, bool scale_grad_by_freq) -> Tensor",
     EmbeddingDenseBackward},
    {"embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type) -> Tensor",
     EmbeddingRenorm,
     {.static_scalars = "norm_type"}},
    {"_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, "
     "int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool "
     "include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
     EmbeddingBag},
    {"_embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, bool "
     "scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, "
     "bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
     EmbeddingBag},
    {"_embedding_bag_backward(Tensor grad, Tensor indices, Tensor offsets, Tensor offset2bag, "
     "Tensor bag_size, Tensor maximum_indices, SymInt num_weights, bool scale_grad_by_freq, int "
     "mode, bool sparse, Tensor? per_sample_weights, int padding_idx=-1) -> Tensor",
     EmbeddingBagBackward},
    {"_embedding_bag_dense_backward(Tensor grad, Tensor indices, Tensor offset2bag, Tensor "
     "bag_size, "
     "Tensor maximum_indices, SymInt num_weights, bool scale_grad_by_freq, int mode, Tensor? "
     "per_sample_weights, int padding_idx=-1) -> Tensor",
     EmbeddingBagDenseBackward},
    {"_embedding_bag_per_sample_weights_backward(Tensor grad, Tensor weight, Tensor indices, "
     "Tensor offsets, Tensor offset2bag, int mode, int padding_idx=-1) -> Tensor",
     EmbeddingBagWeightsBackward},
    {"nonzero(Tensor self) -> Tensor", Nonzero, {.counted = true}},
    {"nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor", NonzeroStatic},
};

}  // namespace

std::span<const Row> IndexRows() { return kRows; }

}  // namespace tpjrt::lower
