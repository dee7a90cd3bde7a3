#include "hlo/index.h"

#include <algorithm>

#include "hlo/elementwise.h"
#include "hlo/shape.h"
#include "hlo/text.h"

namespace tpjrt::hlo {
namespace {

bool Contains(const Dims& list, int64_t value) {
  return std::ranges::find(list, value) != list.end();
}

// "[0, 1]": inside #stablehlo.gather<...> lists have no type.
std::string List(const Dims& dims) { return ToString(dims); }

Dims IndexBatchDims(std::string_view op, Value indices, int64_t index_vector_dim, size_t width) {
  RequireOperands(
      IsInteger(indices.dtype()) && index_vector_dim >= 0 && index_vector_dim <= indices.rank(), op,
      std::vector<Value>{indices}, "indices must be integer, with an index vector dim");
  Dims batch = indices.dims();
  int64_t found = 1;
  if (index_vector_dim < indices.rank()) {
    found = batch[static_cast<size_t>(index_vector_dim)];
    batch.erase(batch.begin() + index_vector_dim);
  }
  RequireOperands(found == static_cast<int64_t>(width), op, std::vector<Value>{indices},
                  StrCat("index vectors must have ", width, " elements"));
  return batch;
}

}  // namespace

Value Gather(Value operand, Value indices, const GatherDims& dims, const Dims& slice_sizes,
             bool indices_are_sorted) {
  const std::string_view op = "stablehlo.gather";
  const std::vector<Value> operands = {operand, indices};
  RequireOperands(static_cast<int64_t>(slice_sizes.size()) == operand.rank(), op, operands,
                  "needs one slice size per dim");
  const Dims batch =
      IndexBatchDims(op, indices, dims.index_vector_dim, dims.start_index_map.size());
  Dims window;
  bool too_large = false;
  for (int64_t i = 0; i < operand.rank(); ++i) {
    const int64_t size = slice_sizes[static_cast<size_t>(i)];
    too_large |= size > operand.dim(i);
    if (Contains(dims.collapsed_slice_dims, i)) continue;
    window.push_back(size);
  }
  RequireOperands(window.size() == dims.offset_dims.size(), op, operands,
                  "needs one offset dim per dim that is not collapsed");
  Dims result;
  size_t next_window = 0;
  size_t next_batch = 0;
  for (size_t i = 0; i < window.size() + batch.size(); ++i) {
    const bool is_offset = Contains(dims.offset_dims, static_cast<int64_t>(i));
    result.push_back(is_offset ? window.at(next_window++) : batch.at(next_batch++));
  }
  // Nothing can be read from an empty dim: zeros, as callers mask what must not be read.
  const Type type{operand.dtype(), result};
  if (NumElements(result) == 0 || (too_large && operand.num_elements() == 0)) {
    return Constant(operand.builder(), type.dtype, 0, type.dims);
  }
  RequireOperands(!too_large, op, operands,
                  StrCat("slices ", ToString(slice_sizes), " are larger than the operand"));
  const std::string attributes = StrCat(
      "dimension_numbers = #stablehlo.gather<offset_dims = ", List(dims.offset_dims),
      ", collapsed_slice_dims = ", List(dims.collapsed_slice_dims),
      ", start_index_map = ", List(dims.start_index_map),
      ", index_vector_dim = ", dims.index_vector_dim, ">, slice_sizes = ", I64Array(slice_sizes),
      ", indices_are_sorted = ", BoolText(indices_are_sorted));
  return operand.builder().Emit1(op, operands, attributes, type);
}

Value Scatter(Value operand, Value indices, Value updates, const ScatterDims& dims,
              const Region& body, bool unique_indices) {
  const std::string_view op = "stablehlo.scatter";
  const std::vector<Value> operands = {operand, indices, updates};
  RequireOperands(operand.dtype() == updates.dtype(), op, operands,
                  "operand and updates must have one dtype");
  const Dims batch =
      IndexBatchDims(op, indices, dims.index_vector_dim, dims.scatter_dims_to_operand_dims.size());
  RequireOperands(operand.rank() == static_cast<int64_t>(dims.update_window_dims.size() +
                                                         dims.inserted_window_dims.size()),
                  op, operands, "window and inserted dims must cover the operand");
  Dims found;
  for (int64_t i = 0; i < updates.rank(); ++i) {
    if (!Contains(dims.update_window_dims, i)) found.push_back(updates.dim(i));
  }
  RequireOperands(found == batch, op, operands, "the updates' batch dims must be those of indices");
  if (operand.num_elements() == 0 || updates.num_elements() == 0) return operand;
  const Type scalar{operand.dtype(), {}};
  Builder& b = operand.builder();
  const RegionText region = b.EmitRegion({{scalar, scalar}, body, true});
  RequireOperands(region.results == std::vector<Type>{scalar}, op, operands,
                  "the body must return one scalar of the operand's dtype");
  const std::string attributes = StrCat(
      "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = ",
      List(dims.update_window_dims), ", inserted_window_dims = ", List(dims.inserted_window_dims),
      ", scatter_dims_to_operand_dims = ", List(dims.scatter_dims_to_operand_dims),
      ", index_vector_dim = ", dims.index_vector_dim,
      ">, indices_are_sorted = false, unique_indices = ", BoolText(unique_indices));
  return b.EmitWithRegions(op, operands, attributes, {operand.type()},
                           std::vector<RegionText>{region})[0];
}

Region ScatterBody(ScatterKind kind) {
  return [kind](Builder&, std::span<const Value> args) -> std::vector<Value> {
    switch (kind) {
      case ScatterKind::kSet:
        return {args[1]};
      case ScatterKind::kAdd:
        return {args[0] + args[1]};
      case ScatterKind::kMul:
        return {args[0] * args[1]};
      case ScatterKind::kMin:
        return {Min(args[0], args[1])};
      case ScatterKind::kMax:
        return {Max(args[0], args[1])};
    }
    Fail(ErrorCode::kInternal, "unknown scatter kind");
  };
}

Value Take(Value x, Value indices) {
  RequireOperands(x.rank() == 1, "take", std::vector<Value>{x, indices}, "x must have rank 1");
  return TakeDim(x, indices, 0);
}

Value TakeDim(Value x, Value indices, int64_t dim) {
  RequireOperands(dim >= 0 && dim < x.rank(), "take", std::vector<Value>{x, indices},
                  StrCat("no dim ", dim));
  GatherDims dims;
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (i != dim) dims.offset_dims.push_back(i < dim ? i : i - 1 + indices.rank());
  }
  dims.collapsed_slice_dims = {dim};
  dims.start_index_map = {dim};
  dims.index_vector_dim = indices.rank();
  Dims sizes = x.dims();
  sizes[static_cast<size_t>(dim)] = 1;
  return Gather(x, indices, dims, sizes);
}

Value Put(Value x, Value indices, Value updates, ScatterKind kind, bool unique_indices) {
  const std::vector<Value> operands = {x, indices, updates};
  RequireOperands(x.rank() == 1 && indices.dims() == updates.dims(), "put", operands,
                  "x must have rank 1; indices and updates equal dims");
  ScatterDims dims;
  dims.inserted_window_dims = {0};
  dims.scatter_dims_to_operand_dims = {0};
  dims.index_vector_dim = indices.rank();
  return Scatter(x, indices, updates, dims, ScatterBody(kind), unique_indices);
}

}  // namespace tpjrt::hlo
