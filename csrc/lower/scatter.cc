// Writes at computed positions: scatter, index_put, index_add and relatives, masked writes. An
// index out of range writes nothing. Half types are summed and multiplied in float32.
#include <functional>

#include "base/error.h"
#include "hlo/elementwise.h"
#include "hlo/index.h"
#include "hlo/shape.h"
#include "lower/families.h"
#include "lower/index_support.h"
#include "lower/prefix_sum.h"

namespace tpjrt::lower {
namespace {

using hlo::ScatterKind;

// Where a scatter writes: combines updates into an operand; the positions are inside.
using Write = std::function<Value(Value operand, Value updates, ScatterKind kind)>;

// torch.scatter's addressing: element by element, along one dim.
Write WriteAlong(const Dims& dims, int64_t dim, Value index) {
  const Value position = AlongDim(dims, dim, index).index;
  return [position](Value operand, Value updates, ScatterKind kind) {
    Value flat = hlo::Put(hlo::Flatten(operand), position, updates, kind);
    return hlo::Reshape(flat, operand.dims());
  };
}

// index_add's addressing: whole slices of one dim.
Write WriteSlices(const Dims& dims, int64_t dim, Value index, Negative negative) {
  const Value row = CheckIndex(index, dims[static_cast<size_t>(dim)], negative).index;
  Dims window;
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d) {
    if (d != dim) window.push_back(d);
  }
  return [row, window, dim](Value operand, Value updates, ScatterKind kind) {
    return hlo::Scatter(operand, row, updates, {window, {dim}, {dim}, 1}, hlo::ScatterBody(kind));
  };
}

Value FloorDivide(Value a, Value positive) {
  Value quotient = a / positive;
  if (!IsInteger(a.dtype()) || IsUnsigned(a.dtype())) return quotient;
  Value below = hlo::Lt(hlo::Rem(a, positive), hlo::ZerosLike(a));
  return hlo::Select(below, quotient - 1.0, quotient);
}

struct Reduction {
  ScatterKind kind;
  bool mean = false;
};

Reduction ReductionOf(const std::string& name) {
  if (name == "sum" || name == "add") return {ScatterKind::kAdd};
  if (name == "mean") return {ScatterKind::kAdd, true};
  if (name == "prod" || name == "multiply") return {ScatterKind::kMul};
  if (name == "amax") return {ScatterKind::kMax};
  if (name == "amin") return {ScatterKind::kMin};
  Fail(ErrorCode::kInvalidArgument, "scatter: unknown reduction '", name, "'");
}

Value Identity(ScatterKind kind, Value like) {
  switch (kind) {
    case ScatterKind::kMul:
      return hlo::ConstantLike(like, 1);
    case ScatterKind::kMax:
      return hlo::LowestValue(like.builder(), like.dtype(), like.dims());
    case ScatterKind::kMin:
      return hlo::HighestValue(like.builder(), like.dtype(), like.dims());
    default:
      return hlo::ZerosLike(like);
  }
}

// self, updates: the compute type. Without include_self the old value of a written element is
// ignored.
Value Reduce(Value self, Value updates, const Write& write, Reduction reduction,
             bool include_self) {
  Value start =
      include_self ? self : write(self, Identity(reduction.kind, updates), ScatterKind::kSet);
  Value result = write(start, updates, reduction.kind);
  if (!reduction.mean) return result;
  Value ones = hlo::ConstantLike(self, 1);
  Value count = write(include_self ? ones : hlo::ZerosLike(self), hlo::ConstantLike(updates, 1),
                      ScatterKind::kAdd);
  return FloorDivide(result, hlo::Max(count, ones));
}

// The written tensor in the type it is combined in; rank 0 counts as rank 1.
struct Target {
  Value self;
  Dims dims;
  int64_t dim;
};
Target TargetOf(Context& c, bool combines) {
  const DType dtype = c.Result().dtype;
  Value self = c.TensorAs("self", combines ? ComputeType(dtype) : dtype);
  const int64_t dim = Context::WrapDim(c.Int("dim"), self.rank());
  if (self.rank() == 0) self = hlo::Unsqueeze(self, 0);
  return {self, self.dims(), dim};
}

Value AtLeastRank1(Value x) { return x.rank() == 0 ? hlo::Unsqueeze(x, 0) : x; }

Outcome Finish(Context& c, Value result) {
  return hlo::Reshape(hlo::Convert(result, c.Result().dtype), c.Result().dims);
}

bool NothingToWrite(const Target& target, Value index) {
  return index.num_elements() == 0 || target.self.num_elements() == 0;
}

// The part of src that index covers.
Value SourceFor(Context& c, Value index, DType dtype) {
  Value src = AtLeastRank1(c.TensorAs("src", dtype));
  return hlo::Slice(src, Dims(index.dims().size(), 0), index.dims(), Dims(index.dims().size(), 1));
}

Outcome ScatterWith(Context& c, Reduction reduction, bool include_self, bool from_value) {
  Target target = TargetOf(c, reduction.kind != ScatterKind::kSet);
  Value index = AtLeastRank1(c.Tensor("index"));
  if (NothingToWrite(target, index)) return Finish(c, target.self);
  const DType dtype = target.self.dtype();
  Value updates = from_value ? hlo::BroadcastInDim(c.Scalar("value", dtype), index.dims(), {})
                             : SourceFor(c, index, dtype);
  Write write = WriteAlong(target.dims, target.dim, index);
  return Finish(c, Reduce(target.self, updates, write, reduction, include_self));
}

Outcome ScatterSrc(Context& c) { return ScatterWith(c, {ScatterKind::kSet}, true, false); }
Outcome ScatterValue(Context& c) { return ScatterWith(c, {ScatterKind::kSet}, true, true); }
Outcome ScatterAdd(Context& c) { return ScatterWith(c, {ScatterKind::kAdd}, true, false); }
Outcome ScatterReduceSrc(Context& c) {
  return ScatterWith(c, ReductionOf(c.String("reduce")), true, false);
}
Outcome ScatterReduceValue(Context& c) {
  return ScatterWith(c, ReductionOf(c.String("reduce")), true, true);
}
Outcome ScatterReduceTwo(Context& c) {
  return ScatterWith(c, ReductionOf(c.String("reduce")), c.Bool("include_self"), false);
}

// source with a dim for the slices, even when it stands for one.
Value SlicesOf(Context& c, const Target& target, Value index) {
  Value source = c.TensorAs("source", target.self.dtype());
  Dims dims = target.dims;
  dims[static_cast<size_t>(target.dim)] = index.dim(0);
  return hlo::Reshape(source, dims);
}

Outcome IndexWith(Context& c, Reduction reduction, bool include_self, bool has_alpha) {
  Target target = TargetOf(c, reduction.kind != ScatterKind::kSet);
  Value index = AtLeastRank1(c.Tensor("index"));
  if (NothingToWrite(target, index)) return Finish(c, target.self);
  Value updates = SlicesOf(c, target, index);
  if (has_alpha) {
    updates = updates * hlo::BroadcastInDim(c.Scalar("alpha", updates.dtype()), updates.dims(), {});
  }
  Write write = WriteSlices(target.dims, target.dim, index, Negative::kOutOfRange);
  return Finish(c, Reduce(target.self, updates, write, reduction, include_self));
}

Outcome IndexAdd(Context& c) { return IndexWith(c, {ScatterKind::kAdd}, true, true); }
Outcome IndexCopy(Context& c) { return IndexWith(c, {ScatterKind::kSet}, true, false); }
Outcome IndexReduce(Context& c) {
  return IndexWith(c, ReductionOf(c.String("reduce")), c.Bool("include_self"), false);
}

template <bool scalar>
Outcome IndexFill(Context& c) {
  Target target = TargetOf(c, false);
  Value index = AtLeastRank1(c.Tensor("index"));
  if (NothingToWrite(target, index)) return Finish(c, target.self);
  const DType dtype = target.self.dtype();
  Value value = scalar ? c.Scalar("value", dtype) : hlo::Reshape(c.TensorAs("value", dtype), {});
  Dims dims = target.dims;
  dims[static_cast<size_t>(target.dim)] = index.dim(0);
  Write write = WriteSlices(target.dims, target.dim, index, Negative::kWraps);
  return Finish(c, write(target.self, hlo::BroadcastInDim(value, dims, {}), ScatterKind::kSet));
}

Outcome IndexPut(Context& c) {
  const std::vector<Value> indices = c.TensorList("indices");
  if (HasMask(indices)) return Unsupported{"a mask among the indices"};
  const bool accumulate = c.Bool("accumulate");
  const DType dtype = c.Result().dtype;
  const DType compute = accumulate ? ComputeType(dtype) : dtype;
  Value self = c.TensorAs("self", compute);
  const AdvancedIndex plan = PlanAdvancedIndex(self.dims(), indices);
  if (hlo::NumElements(plan.result) == 0 || self.num_elements() == 0) return Finish(c, self);
  Value values = hlo::BroadcastTo(c.TensorAs("values", compute), plan.result);
  const hlo::ScatterDims dims{plan.window_dims, plan.indexed, plan.indexed,
                              static_cast<int64_t>(plan.index_dims.size())};
  const ScatterKind kind = accumulate ? ScatterKind::kAdd : ScatterKind::kSet;
  return Finish(c, hlo::Scatter(self, plan.start, values, dims, hlo::ScatterBody(kind)));
}

Outcome Put(Context& c) {
  const bool accumulate = c.Bool("accumulate");
  const DType dtype = c.Result().dtype;
  Value self = c.TensorAs("self", accumulate ? ComputeType(dtype) : dtype);
  Value index = hlo::Flatten(c.Tensor("index"));
  if (index.num_elements() == 0 || self.num_elements() == 0) return Finish(c, self);
  Value source = hlo::Flatten(c.TensorAs("source", self.dtype()));
  Value position = CheckIndex(index, self.num_elements(), Negative::kWraps).index;
  return Finish(c, hlo::Put(hlo::Flatten(self), position, source,
                            accumulate ? ScatterKind::kAdd : ScatterKind::kSet));
}

Outcome MaskedFillWith(Context& c, Value value) {
  const Type& out = c.Result();
  Value self = hlo::BroadcastTo(c.TensorAs("self", out.dtype), out.dims);
  Value mask = hlo::BroadcastTo(c.TensorAs("mask", DType::kBool), out.dims);
  return hlo::Select(mask, hlo::BroadcastInDim(hlo::Reshape(value, {}), out.dims, {}), self);
}
Outcome MaskedFillScalar(Context& c) {
  return MaskedFillWith(c, c.Scalar("value", c.Result().dtype));
}
Outcome MaskedFillTensor(Context& c) {
  return MaskedFillWith(c, c.TensorAs("value", c.Result().dtype));
}

// The i-th true element of the mask takes the i-th element of source.
Outcome MaskedScatter(Context& c) {
  const Type& out = c.Result();
  Value self = hlo::BroadcastTo(c.TensorAs("self", out.dtype), out.dims);
  if (self.num_elements() == 0) return self;
  Value mask = hlo::BroadcastTo(c.TensorAs("mask", DType::kBool), out.dims);
  Value before = ExclusivePrefixSum(hlo::Convert(hlo::Flatten(mask), DType::kI64));
  before = hlo::Reshape(before, out.dims);
  const Value index = hlo::Select(mask, before, hlo::ZerosLike(before));
  const Value source = c.TensorAs("source", out.dtype);
  if (source.num_elements() == 0) return Unsupported{"masked_scatter from nothing"};
  Value read = ReadFlat(source, index, Negative::kOutOfRange);
  return hlo::Select(mask, read, self);
}

const Row kRows[] = {
    {"scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", ScatterSrc},
    {"scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
     ScatterValue,
     {.checked_scalars = "value"}},
    {"scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
     ScatterReduceSrc},
    {"scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> "
     "Tensor",
     ScatterReduceValue},
    {"scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", ScatterAdd},
    {"scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool "
     "include_self=True) -> Tensor",
     ScatterReduceTwo},
    {"index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
     IndexAdd},
    {"index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor", IndexCopy},
    {"index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool "
     "include_self=True) -> Tensor",
     IndexReduce},
    {"index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
     IndexFill<true>,
     {.checked_scalars = "value"}},
    {"index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor",
     IndexFill<false>},
    {"index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
     IndexPut},
    {"_index_put_impl(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, bool "
     "unsafe=False) -> Tensor",
     IndexPut},
    {"put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor", Put},
    {"masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
     MaskedFillScalar,
     {.checked_scalars = "value"}},
    {"masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor", MaskedFillTensor},
    {"masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor", MaskedScatter},
};

}  // namespace

std::span<const Row> ScatterRows() { return kRows; }

}  // namespace tpjrt::lower
