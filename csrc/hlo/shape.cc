#include "hlo/shape.h"

#include <algorithm>
#include <numeric>

#include "hlo/elementwise.h"
#include "hlo/text.h"

namespace tpjrt::hlo {
namespace {

size_t Index(int64_t i) { return static_cast<size_t>(i); }

void RequireDim(std::string_view op, Value x, int64_t dim, int64_t rank) {
  if (dim >= 0 && dim < rank) return;
  FailOperands(op, std::vector<Value>{x}, StrCat("no dim ", dim));
}

void RequireSizes(std::string_view op, Value x, std::initializer_list<const Dims*> lists) {
  for (const Dims* list : lists) {
    RequireOperands(static_cast<int64_t>(list->size()) == x.rank(), op, std::vector<Value>{x},
                    StrCat("needs one number per dim, not ", ToString(*list)));
  }
}

}  // namespace

Value Reshape(Value x, const Dims& dims) {
  if (x.dims() == dims) return x;
  RequireOperands(NumElements(dims) == x.num_elements(), "stablehlo.reshape", std::vector<Value>{x},
                  StrCat("cannot take the dims ", ToString(dims)));
  return x.builder().Emit1("stablehlo.reshape", std::vector<Value>{x}, "", Type{x.dtype(), dims});
}

Value Flatten(Value x) { return Reshape(x, {x.num_elements()}); }

Value Transpose(Value x, const Dims& permutation) {
  RequireSizes("stablehlo.transpose", x, {&permutation});
  Dims identity(permutation.size());
  std::iota(identity.begin(), identity.end(), 0);
  if (permutation == identity) return x;
  RequireOperands(std::is_permutation(permutation.begin(), permutation.end(), identity.begin()),
                  "stablehlo.transpose", std::vector<Value>{x},
                  StrCat(ToString(permutation), " is no permutation"));
  Dims dims;
  for (int64_t i : permutation) dims.push_back(x.dims()[Index(i)]);
  return x.builder().Emit1("stablehlo.transpose", std::vector<Value>{x},
                           "permutation = " + I64Array(permutation), Type{x.dtype(), dims});
}

Value SwapDims(Value x, int64_t i, int64_t j) {
  RequireDim("stablehlo.transpose", x, i, x.rank());
  RequireDim("stablehlo.transpose", x, j, x.rank());
  Dims permutation(Index(x.rank()));
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[Index(i)], permutation[Index(j)]);
  return Transpose(x, permutation);
}

Value BroadcastInDim(Value x, const Dims& dims, const Dims& mapping) {
  const std::string_view op = "stablehlo.broadcast_in_dim";
  RequireSizes(op, x, {&mapping});
  int64_t previous = -1;
  for (size_t i = 0; i < mapping.size(); ++i) {
    const int64_t to = mapping[i];
    RequireOperands(to > previous && to < static_cast<int64_t>(dims.size()) &&
                        (x.dims()[i] == dims[Index(to)] || x.dims()[i] == 1),
                    op, std::vector<Value>{x},
                    StrCat("does not broadcast to ", ToString(dims), " along ", ToString(mapping)));
    previous = to;
  }
  if (x.dims() == dims) return x;
  return x.builder().Emit1(op, std::vector<Value>{x}, "broadcast_dimensions = " + I64Array(mapping),
                           Type{x.dtype(), dims});
}

Value BroadcastTo(Value x, const Dims& dims) {
  if (x.dims() == dims) return x;
  const int64_t offset = static_cast<int64_t>(dims.size()) - x.rank();
  RequireOperands(offset >= 0, "stablehlo.broadcast_in_dim", std::vector<Value>{x},
                  StrCat("does not broadcast to ", ToString(dims)));
  Dims mapping(Index(x.rank()));
  std::iota(mapping.begin(), mapping.end(), offset);
  return BroadcastInDim(x, dims, mapping);
}

Dims BroadcastDims(const Dims& a, const Dims& b) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims out = longer;
  const size_t offset = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t& dim = out[offset + i];
    if (dim == 1) dim = shorter[i];
    Require(dim == shorter[i] || shorter[i] == 1, "dims ", ToString(a), " and ", ToString(b),
            " do not broadcast");
  }
  return out;
}

Value Iota(Builder& b, DType dtype, const Dims& dims, int64_t dim) {
  Require(dim >= 0 && dim < static_cast<int64_t>(dims.size()), "stablehlo.iota: no dim ", dim,
          " in ", ToString(dims));
  Require(dtype != DType::kBool, "stablehlo.iota: not defined for bool");
  return b.Emit1("stablehlo.iota", {}, StrCat("iota_dimension = ", dim, " : i64"),
                 Type{dtype, dims});
}

Value Slice(Value x, const Dims& starts, const Dims& limits, const Dims& strides) {
  const std::string_view op = "stablehlo.slice";
  RequireSizes(op, x, {&starts, &limits, &strides});
  Dims dims;
  for (size_t i = 0; i < starts.size(); ++i) {
    RequireOperands(
        starts[i] >= 0 && starts[i] <= limits[i] && limits[i] <= x.dims()[i] && strides[i] > 0, op,
        std::vector<Value>{x},
        StrCat("range ", ToString(starts), " to ", ToString(limits), " by ", ToString(strides),
               " is not inside"));
    dims.push_back((limits[i] - starts[i] + strides[i] - 1) / strides[i]);
  }
  if (dims == x.dims()) return x;
  return x.builder().Emit1(op, std::vector<Value>{x},
                           StrCat("start_indices = ", I64Array(starts), ", limit_indices = ",
                                  I64Array(limits), ", strides = ", I64Array(strides)),
                           Type{x.dtype(), dims});
}

Value SliceDim(Value x, int64_t dim, int64_t start, int64_t limit, int64_t stride) {
  RequireDim("stablehlo.slice", x, dim, x.rank());
  Dims starts(Index(x.rank()), 0);
  Dims limits = x.dims();
  Dims strides(Index(x.rank()), 1);
  starts[Index(dim)] = start;
  limits[Index(dim)] = limit;
  strides[Index(dim)] = stride;
  return Slice(x, starts, limits, strides);
}

Value Concatenate(std::span<const Value> parts, int64_t dim) {
  const std::string_view op = "stablehlo.concatenate";
  Require(!parts.empty(), op, ": no operands");
  RequireDim(op, parts[0], dim, parts[0].rank());
  Dims dims = parts[0].dims();
  dims[Index(dim)] = 0;
  for (const Value& part : parts) {
    RequireOperands(part.dtype() == parts[0].dtype() && part.rank() == parts[0].rank(), op, parts,
                    "operands must have one dtype and rank");
    Dims rest = part.dims();
    dims[Index(dim)] += rest[Index(dim)];
    rest[Index(dim)] = dims[Index(dim)];
    RequireOperands(rest == dims, op, parts, StrCat("operands may differ in dim ", dim, " only"));
  }
  if (parts.size() == 1) return parts[0];
  return parts[0].builder().Emit1(op, parts, StrCat("dimension = ", dim, " : i64"),
                                  Type{parts[0].dtype(), dims});
}

Value Pad(Value x, Value fill, const Dims& low, const Dims& high, const Dims& interior) {
  const std::string_view op = "stablehlo.pad";
  RequireSizes(op, x, {&low, &high, &interior});
  RequireOperands(fill.type() == Type{x.dtype(), {}}, op, std::vector<Value>{x, fill},
                  "fill must be a scalar of x's dtype");
  Dims dims;
  for (size_t i = 0; i < low.size(); ++i) {
    const int64_t size = x.dims()[i];
    dims.push_back(size + low[i] + high[i] + std::max<int64_t>(size - 1, 0) * interior[i]);
    RequireOperands(interior[i] >= 0 && dims.back() >= 0, op, std::vector<Value>{x, fill},
                    StrCat("cannot pad by ", ToString(low), " and ", ToString(high)));
  }
  if (x.num_elements() == 0) return BroadcastTo(fill, dims);
  return x.builder().Emit1(op, std::vector<Value>{x, fill},
                           StrCat("edge_padding_low = ", I64Array(low), ", edge_padding_high = ",
                                  I64Array(high), ", interior_padding = ", I64Array(interior)),
                           Type{x.dtype(), dims});
}

Value Reverse(Value x, const Dims& dims) {
  if (dims.empty()) return x;
  for (int64_t dim : dims) RequireDim("stablehlo.reverse", x, dim, x.rank());
  return x.builder().Emit1("stablehlo.reverse", std::vector<Value>{x},
                           "dimensions = " + I64Array(dims), x.type());
}

Value Unsqueeze(Value x, int64_t dim) {
  RequireDim("stablehlo.reshape", x, dim, x.rank() + 1);
  Dims dims = x.dims();
  dims.insert(dims.begin() + dim, 1);
  return Reshape(x, dims);
}

Value Squeeze(Value x, int64_t dim) {
  RequireDim("stablehlo.reshape", x, dim, x.rank());
  RequireOperands(x.dim(dim) == 1, "stablehlo.reshape", std::vector<Value>{x},
                  StrCat("cannot drop dim ", dim));
  Dims dims = x.dims();
  dims.erase(dims.begin() + dim);
  return Reshape(x, dims);
}

Value Stack(std::span<const Value> parts, int64_t dim) {
  std::vector<Value> expanded;
  for (const Value& part : parts) expanded.push_back(Unsqueeze(part, dim));
  return Concatenate(expanded, dim);
}

namespace {

std::vector<Value> WithStarts(std::string_view op, std::vector<Value> operands,
                              std::span<const Value> starts, int64_t rank) {
  const size_t fixed = operands.size();
  operands.insert(operands.end(), starts.begin(), starts.end());
  RequireOperands(static_cast<int64_t>(starts.size()) == rank, op, operands,
                  "needs one start per dim");
  for (size_t i = fixed; i < operands.size(); ++i) {
    RequireOperands(operands[i].rank() == 0 && IsInteger(operands[i].dtype()) &&
                        operands[i].dtype() == starts[0].dtype(),
                    op, operands, "starts must be integer scalars of one dtype");
  }
  return operands;
}

}  // namespace

Value DynamicSlice(Value x, std::span<const Value> starts, const Dims& sizes) {
  const std::string_view op = "stablehlo.dynamic_slice";
  RequireSizes(op, x, {&sizes});
  for (size_t i = 0; i < sizes.size(); ++i) {
    RequireOperands(sizes[i] >= 0 && sizes[i] <= x.dims()[i], op, std::vector<Value>{x},
                    StrCat("sizes ", ToString(sizes), " are larger than the operand"));
  }
  const std::vector<Value> operands = WithStarts(op, {x}, starts, x.rank());
  if (sizes == x.dims()) return x;
  return x.builder().Emit1(op, operands, "slice_sizes = " + I64Array(sizes),
                           Type{x.dtype(), sizes});
}

Value DynamicUpdateSlice(Value x, Value update, std::span<const Value> starts) {
  const std::string_view op = "stablehlo.dynamic_update_slice";
  RequireOperands(x.dtype() == update.dtype() && x.rank() == update.rank(), op,
                  std::vector<Value>{x, update}, "operands must have one dtype and rank");
  for (int64_t i = 0; i < x.rank(); ++i) {
    RequireOperands(update.dim(i) <= x.dim(i), op, std::vector<Value>{x, update},
                    "the update is larger than the operand");
  }
  const std::vector<Value> operands = WithStarts(op, {x, update}, starts, x.rank());
  if (update.num_elements() == 0) return x;
  if (update.dims() == x.dims()) return update;
  return x.builder().Emit1(op, operands, "", x.type());
}

}  // namespace tpjrt::hlo
