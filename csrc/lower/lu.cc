#include "lower/lu.h"

#include <algorithm>

#include "hlo/control.h"
#include "hlo/elementwise.h"
#include "hlo/index.h"
#include "hlo/linalg.h"
#include "hlo/reduce.h"
#include "hlo/shape.h"

namespace tpjrt::lower {
namespace {

Value Rows(Value per_batch, const Dims& dims) { return hlo::BroadcastInDim(per_batch, dims, {0}); }
Value Everywhere(Value scalar, const Dims& dims) { return hlo::BroadcastInDim(scalar, dims, {}); }

// The first position [B] of the largest value per row of x [B, m]; NaN counts as the largest.
Value ArgMax(Value x) {
  Value peak = hlo::ReduceMax(x, {1});
  Value at_peak = hlo::Or(hlo::Eq(x, Rows(peak, x.dims())), hlo::IsNan(x));
  Value position = hlo::Iota(x.builder(), DType::kI32, x.dims(), 1);
  Value none = hlo::ConstantInt(x.builder(), DType::kI32, x.dim(1), x.dims());
  Value first = hlo::ReduceMin(hlo::Select(at_peak, position, none), {1});
  return hlo::Min(first, hlo::ConstantInt(x.builder(), DType::kI32, x.dim(1) - 1, first.dims()));
}

// The row of x [B, m, n] that `is_row` [B, m] marks, [B, n]. A select, so NaN elsewhere stays
// there.
Value MarkedRow(Value x, Value is_row) {
  Value mask = hlo::BroadcastInDim(is_row, x.dims(), {0, 1});
  return hlo::ReduceSum(hlo::Select(mask, x, hlo::ZerosLike(x)), {1});
}

Value SwapRows(Value x, Value is_a, Value is_b) {
  Value a = hlo::BroadcastInDim(MarkedRow(x, is_a), x.dims(), {0, 2});
  Value b = hlo::BroadcastInDim(MarkedRow(x, is_b), x.dims(), {0, 2});
  Value in_a = hlo::BroadcastInDim(is_a, x.dims(), {0, 1});
  Value in_b = hlo::BroadcastInDim(is_b, x.dims(), {0, 1});
  return hlo::Select(in_a, b, hlo::Select(in_b, a, x));
}

// What LAPACK compares: |re| + |im| for complex numbers.
Value PivotSize(Value x) {
  if (!IsComplex(x.dtype())) return hlo::Abs(x);
  return hlo::Abs(hlo::Real(x)) + hlo::Abs(hlo::Imag(x));
}

// State: factors, pivots, info, permutation [B, m, 1].
std::vector<Value> Step(hlo::Builder& b, Value k, std::vector<Value> state) {
  Value a = state[0];
  const Dims dims = a.dims(), column_dims = {dims[0], dims[1]};
  Value zero = hlo::ConstantInt(b, DType::kI32, 0);
  Value row = hlo::Iota(b, DType::kI32, column_dims, 1);
  Value this_row = Everywhere(k, column_dims);

  const auto column = [&](Value x) {
    const Value start[] = {zero, zero, k};
    return hlo::Reshape(hlo::DynamicSlice(x, start, {dims[0], dims[1], 1}), column_dims);
  };
  Value size = PivotSize(column(a));
  Value pivot = ArgMax(hlo::Select(hlo::Ge(row, this_row), size, hlo::ConstantLike(size, -1)));
  Value is_k = hlo::Eq(row, this_row), is_pivot = hlo::Eq(row, Rows(pivot, column_dims));
  a = SwapRows(a, is_k, is_pivot);
  Value permutation = SwapRows(state[3], is_k, is_pivot);

  Value pivot_row = MarkedRow(a, is_k);
  Value old_column = column(a);
  Value diagonal = hlo::ReduceSum(hlo::Select(is_k, old_column, hlo::ZerosLike(old_column)), {1});
  Value singular = hlo::Eq(diagonal, hlo::ZerosLike(diagonal));
  Value divisor = hlo::Select(singular, hlo::ConstantLike(diagonal, 1), diagonal);
  Value below = hlo::Gt(row, this_row);
  Value factor =
      hlo::Select(below, old_column / Rows(divisor, column_dims), hlo::ZerosLike(old_column));

  Value right = hlo::Gt(hlo::Iota(b, DType::kI32, dims, 2), Everywhere(k, dims));
  Value update =
      hlo::BroadcastInDim(factor, dims, {0, 1}) * hlo::BroadcastInDim(pivot_row, dims, {0, 2});
  Value in_below = hlo::BroadcastInDim(below, dims, {0, 1});
  Value trailing = hlo::And(in_below, right);
  Value in_column =
      hlo::And(in_below, hlo::Eq(hlo::Iota(b, DType::kI32, dims, 2), Everywhere(k, dims)));
  Value next = hlo::Select(trailing, a - update, a);
  next = hlo::Select(in_column, hlo::BroadcastInDim(factor, dims, {0, 1}), next);

  const Value at[] = {zero, k};
  Value one_based = hlo::Reshape(pivot + 1.0, {dims[0], 1});
  Value pivots = hlo::DynamicUpdateSlice(state[1], one_based, at);
  Value first_zero = hlo::And(singular, hlo::Eq(state[2], 0.0));
  Value info = hlo::Select(first_zero, Everywhere(k + 1.0, state[2].dims()), state[2]);
  return {next, pivots, info, permutation};
}

}  // namespace

Lu Factor(Value a) {
  hlo::Builder& b = a.builder();
  const int64_t batch = a.dim(0), m = a.dim(1), steps = std::min(m, a.dim(2));
  std::vector<Value> state = {a, hlo::ConstantInt(b, DType::kI32, 0, {batch, steps}),
                              hlo::ConstantInt(b, DType::kI32, 0, {batch}),
                              hlo::Iota(b, DType::kI32, {batch, m, 1}, 1)};
  if (a.num_elements() > 0) {
    state = hlo::ForLoop(b, steps, state, [](hlo::Builder& inner, std::span<const Value> args) {
      return Step(inner, args[0], {args.begin() + 1, args.end()});
    });
  }
  return {state[0], state[1], state[2], hlo::Reshape(state[3], {batch, m})};
}

Value PermutationOf(Value pivots, int64_t m) {
  hlo::Builder& b = pivots.builder();
  const int64_t batch = pivots.dim(0);
  Value start = hlo::Iota(b, DType::kI32, {batch, m, 1}, 1);
  if (batch == 0 || m == 0) return hlo::Reshape(start, {batch, m});
  const Value init[] = {start, hlo::Convert(pivots, DType::kI32)};
  std::vector<Value> state = hlo::ForLoop(
      b, pivots.dim(1), init, [batch, m](hlo::Builder& inner, std::span<const Value> args) {
        const Dims dims = {batch, m};
        const Value at[] = {hlo::ConstantInt(inner, DType::kI32, 0), args[0]};
        Value pivot = hlo::Reshape(hlo::DynamicSlice(args[2], at, {batch, 1}), {batch}) - 1.0;
        Value row = hlo::Iota(inner, DType::kI32, dims, 1);
        Value swapped = SwapRows(args[1], hlo::Eq(row, Everywhere(args[0], dims)),
                                 hlo::Eq(row, Rows(pivot, dims)));
        return std::vector<Value>{swapped, args[2]};
      });
  return hlo::Reshape(state[0], {batch, m});
}

Value ParityOf(Value pivots, DType dtype) {
  hlo::Builder& b = pivots.builder();
  Value own = hlo::Iota(b, pivots.dtype(), pivots.dims(), 1) + 1.0;
  Value swaps = hlo::ReduceSum(hlo::Convert(hlo::Ne(pivots, own), DType::kI32), {1});
  Value odd = hlo::Eq(hlo::Rem(swaps, hlo::ConstantLike(swaps, 2)), 1.0);
  Value one = hlo::Constant(b, dtype, 1, odd.dims());
  return hlo::Select(odd, -one, one);
}

Value PermuteRows(Value x, Value permutation) {
  hlo::Builder& b = x.builder();
  const Dims batch_rows = permutation.dims();
  if (x.num_elements() == 0) return x;
  const Value parts[] = {hlo::Iota(b, DType::kI32, batch_rows, 0), permutation};
  hlo::GatherDims dims{{2}, {0, 1}, {0, 1}, 2};
  return hlo::Gather(x, hlo::Stack(parts, 2), dims, {1, 1, x.dim(2)});
}

Value UnpermuteRows(Value x, Value permutation) {
  if (x.num_elements() == 0) return x;
  const Value parts[] = {hlo::Iota(x.builder(), DType::kI32, permutation.dims(), 0), permutation};
  return hlo::Scatter(hlo::ZerosLike(x), hlo::Stack(parts, 2), x, {{2}, {0, 1}, {0, 1}, 2},
                      hlo::ScatterBody(hlo::ScatterKind::kSet), true);
}

Value PermutationMatrix(Value permutation, DType dtype) {
  const int64_t m = permutation.dim(1);
  const Dims dims = {permutation.dim(0), m, m};
  Value row = hlo::Iota(permutation.builder(), DType::kI32, dims, 1);
  return hlo::Convert(hlo::Eq(row, hlo::BroadcastInDim(permutation, dims, {0, 2})), dtype);
}

Value SolveFactored(Value factors, Value permutation, Value b, bool adjoint) {
  if (b.num_elements() == 0) return b;
  if (!adjoint) {
    Value y = hlo::TriangularSolve(factors, PermuteRows(b, permutation), true, true, true, false);
    return hlo::TriangularSolve(factors, y, true, false, false, false);
  }
  Value y = hlo::TriangularSolve(factors, b, true, false, false, true, true);
  y = hlo::TriangularSolve(factors, y, true, true, true, true, true);
  return UnpermuteRows(y, permutation);
}

Value FlattenBatch(Value x) {
  const int64_t batch = hlo::NumElements(Dims(x.dims().begin(), x.dims().end() - 2));
  return hlo::Reshape(x, {batch, x.dim(-2), x.dim(-1)});
}

namespace {

Value ColumnLessRow(Value x) {
  hlo::Builder& b = x.builder();
  return hlo::Iota(b, DType::kI32, x.dims(), x.rank() - 1) -
         hlo::Iota(b, DType::kI32, x.dims(), x.rank() - 2);
}

}  // namespace

Value LowerTriangle(Value x, int64_t offset) {
  return hlo::Select(hlo::Le(ColumnLessRow(x), static_cast<double>(offset)), x, hlo::ZerosLike(x));
}
Value UpperTriangle(Value x, int64_t offset) {
  return hlo::Select(hlo::Ge(ColumnLessRow(x), static_cast<double>(offset)), x, hlo::ZerosLike(x));
}
Value IdentityLike(hlo::Builder& b, DType dtype, const Dims& dims) {
  Value shape = hlo::Constant(b, dtype, 0, dims);
  return hlo::Convert(hlo::Eq(ColumnLessRow(shape), 0.0), dtype);
}

}  // namespace tpjrt::lower
