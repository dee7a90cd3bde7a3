#include "lower/index_support.h"

#include <limits>

#include "base/error.h"
#include "hlo/elementwise.h"
#include "hlo/index.h"
#include "hlo/reduce.h"
#include "hlo/shape.h"

namespace tpjrt::lower {
namespace {

// Whether positions up to and including `count` fit an i32.
DType PositionType(int64_t count) {
  return count < std::numeric_limits<int32_t>::max() ? DType::kI32 : DType::kI64;
}

Value MaskRead(Value read, Value valid, const Dims& mapping) {
  Value mask = hlo::BroadcastInDim(valid, read.dims(), mapping);
  return hlo::Select(mask, read, BadRead(read.builder(), read.dtype(), read.dims()));
}

Dims Range(int64_t first, int64_t count) {
  Dims result(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) result[static_cast<size_t>(i)] = first + i;
  return result;
}

}  // namespace

Value BadRead(hlo::Builder& b, DType dtype, const Dims& dims) {
  const bool has_nan = IsFloat(dtype) || IsComplex(dtype);
  return hlo::Constant(b, dtype, has_nan ? std::numeric_limits<double>::quiet_NaN() : 0.0, dims);
}

void ReportBadIndices(Value index, Value bad, int64_t size) {
  hlo::Builder& b = index.builder();
  if (index.num_elements() == 0) return;
  Value wide = hlo::Flatten(hlo::Convert(index, DType::kI64));
  bad = hlo::Flatten(bad);
  Value worst =
      hlo::ReduceMax(hlo::Select(bad, wide, hlo::LowestValue(b, DType::kI64, wide.dims())), {0});
  Value any = hlo::ReduceOr(bad, {0});
  // One more than the size: a limit of 0 means that all is well, and dims of size 0 exist.
  Value limit = hlo::ConstantInt(b, DType::kI64, size + 1);
  Value zero = hlo::ZerosLike(limit);
  const Value parts[] = {hlo::Select(any, worst, zero), hlo::Select(any, limit, zero)};
  b.AddFault(hlo::Stack(parts, 0));
}

CheckedIndex CheckIndex(Value index, int64_t size, Negative negative) {
  hlo::Builder& b = index.builder();
  if (IsUnsigned(index.dtype()) || ItemSize(index.dtype()) < 4) {
    index = hlo::Convert(index, DType::kI64);
  }
  const DType dtype = index.dtype();
  // A size beyond i32 cannot be reached by an i32 index.
  const int64_t limit = dtype == DType::kI32 && PositionType(size) == DType::kI64
                            ? std::numeric_limits<int32_t>::max()
                            : size;
  Value extent = hlo::ConstantInt(b, dtype, limit, index.dims());
  Value zero = hlo::ZerosLike(index);
  const Value given = index;
  if (negative == Negative::kWraps) {
    index = hlo::Select(hlo::Lt(index, zero), index + extent, index);
  }
  Value valid = hlo::And(hlo::Ge(index, zero), hlo::Lt(index, extent));
  ReportBadIndices(given, hlo::Not(valid), size);
  index = hlo::Convert(hlo::Select(valid, index, extent), PositionType(size));
  return {index, valid};
}

Value ReadRows(Value x, Value index, int64_t dim, Negative negative) {
  Dims dims(x.dims().begin(), x.dims().begin() + dim);
  dims.insert(dims.end(), index.dims().begin(), index.dims().end());
  dims.insert(dims.end(), x.dims().begin() + dim + 1, x.dims().end());
  if (index.num_elements() == 0) return BadRead(x.builder(), x.dtype(), dims);
  CheckedIndex p = CheckIndex(index, x.dim(dim), negative);
  if (x.num_elements() == 0) return BadRead(x.builder(), x.dtype(), dims);
  return MaskRead(hlo::TakeDim(x, p.index, dim), p.valid, Range(dim, index.rank()));
}

Value ReadFlat(Value x, Value index, Negative negative) {
  if (index.num_elements() == 0) return BadRead(x.builder(), x.dtype(), index.dims());
  CheckedIndex p = CheckIndex(index, x.num_elements(), negative);
  if (x.num_elements() == 0) return BadRead(x.builder(), x.dtype(), index.dims());
  return MaskRead(hlo::Take(hlo::Flatten(x), p.index), p.valid, Range(0, index.rank()));
}

CheckedIndex AlongDim(const Dims& dims, int64_t dim, Value index) {
  hlo::Builder& b = index.builder();
  const int64_t count = hlo::NumElements(dims);
  const DType dtype = PositionType(count);
  const int64_t rank = static_cast<int64_t>(dims.size());
  CheckedIndex along = CheckIndex(index, dims[static_cast<size_t>(dim)], Negative::kOutOfRange);
  Value position = hlo::ConstantInt(b, dtype, 0, index.dims());
  int64_t stride = 1;
  for (int64_t d = rank - 1; d >= 0; --d) {
    Value coordinate =
        d == dim ? hlo::Convert(along.index, dtype) : hlo::Iota(b, dtype, index.dims(), d);
    if (stride != 1) coordinate = coordinate * hlo::ConstantInt(b, dtype, stride, index.dims());
    if (d == dim || index.dim(d) != 1) position = position + coordinate;
    stride *= dims[static_cast<size_t>(d)];
  }
  position = hlo::Select(along.valid, position, hlo::ConstantInt(b, dtype, count, index.dims()));
  return {position, along.valid};
}

bool HasMask(std::span<const Value> indices) {
  for (const Value& index : indices) {
    if (index.valid() && (index.dtype() == DType::kBool || index.dtype() == DType::kU8))
      return true;
  }
  return false;
}

AdvancedIndex PlanAdvancedIndex(const Dims& self, std::span<const Value> indices) {
  AdvancedIndex plan;
  const int64_t rank = static_cast<int64_t>(self.size());
  for (size_t d = 0; d < indices.size(); ++d) {
    if (!indices[d].valid()) continue;
    plan.indexed.push_back(static_cast<int64_t>(d));
    plan.index_dims = hlo::BroadcastDims(plan.index_dims, indices[d].dims());
  }
  Check(!plan.indexed.empty(), "advanced indexing without an index");
  const int64_t n = static_cast<int64_t>(plan.indexed.size());
  const bool adjacent = plan.indexed.back() - plan.indexed.front() == n - 1;
  plan.position = adjacent ? plan.indexed.front() : 0;

  std::vector<Value> parts;
  DType dtype = DType::kI32;
  for (int64_t d : plan.indexed) {
    if (PositionType(self[static_cast<size_t>(d)]) == DType::kI64) dtype = DType::kI64;
  }
  for (int64_t d : plan.indexed) {
    CheckedIndex p = CheckIndex(hlo::BroadcastTo(indices[static_cast<size_t>(d)], plan.index_dims),
                                self[static_cast<size_t>(d)], Negative::kWraps);
    parts.push_back(hlo::Convert(p.index, dtype));
    plan.valid = plan.valid.valid() ? hlo::And(plan.valid, p.valid) : p.valid;
  }
  plan.start = hlo::Stack(parts, static_cast<int64_t>(plan.index_dims.size()));

  const auto append_index = [&plan] {
    plan.result.insert(plan.result.end(), plan.index_dims.begin(), plan.index_dims.end());
  };
  if (plan.position == 0) append_index();
  for (int64_t d = 0, next = 0; d < rank; ++d) {
    if (next < n && plan.indexed[static_cast<size_t>(next)] == d) {
      if (++next == 1 && plan.position > 0) append_index();
      continue;
    }
    plan.window_dims.push_back(static_cast<int64_t>(plan.result.size()));
    plan.result.push_back(self[static_cast<size_t>(d)]);
  }
  return plan;
}

Value ReadAdvanced(Value self, const AdvancedIndex& plan) {
  if (hlo::NumElements(plan.result) == 0 || self.num_elements() == 0) {
    return BadRead(self.builder(), self.dtype(), plan.result);
  }
  const int64_t batch = static_cast<int64_t>(plan.index_dims.size());
  Dims sizes = self.dims();
  for (int64_t d : plan.indexed) sizes[static_cast<size_t>(d)] = 1;
  hlo::GatherDims dims{plan.window_dims, plan.indexed, plan.indexed, batch};
  Value read = hlo::Gather(self, plan.start, dims, sizes);
  return MaskRead(read, plan.valid, Range(plan.position, batch));
}

}  // namespace tpjrt::lower
