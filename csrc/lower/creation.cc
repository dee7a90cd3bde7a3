// Tensors from numbers: fills, ranges, index patterns.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "lower/families.h"
#include "lower/pointwise.h"
#include "lower/special_math.h"

namespace tpjrt::lower {
namespace {

Outcome FillScalar(Context& c) { return WideScalar(c, "value", c.Result().dtype); }
Outcome FillTensor(Context& c) { return Wide(c, "value", c.Result().dtype); }
Outcome Zero(Context& c) {
  return hlo::Constant(c.builder(), c.Result().dtype, 0, c.Result().dims);
}

// 0, 1, 2, ... with the result's dims (rank 1).
Value Steps(Context& c, DType dtype) { return hlo::Iota(c.builder(), dtype, c.Result().dims, 0); }

// PyTorch computes ranges of integers in int64. The size is the result's: of an
// out= the glue has resized it.
Outcome Range(Context& c) {
  const DType type = c.Result().dtype;
  const DType compute = IsInteger(type) ? DType::kI64 : ComputeType(type);
  if (c.Result().dims.size() != 1) return Unsupported{"a range that is not a vector"};
  const Value index = Steps(c, compute);
  const Value start = WideScalar(c, "start", compute);
  return hlo::Convert(index * WideScalar(c, "step", compute) + start, type);
}

// Steps from both ends, so that both ends are met exactly.
Value Spaced(Context& c, Value start, Value end, int64_t steps) {
  const DType compute = start.dtype();
  if (steps == 1) return start;
  const Value index = Steps(c, compute);
  const Value step = (end - start) / static_cast<double>(steps - 1);
  const Value back = hlo::ConstantLike(index, static_cast<double>(steps - 1)) - index;
  const Value first_half = hlo::Lt(Steps(c, DType::kI64), static_cast<double>(steps / 2));
  return hlo::Select(first_half, start + step * index, end - step * back);
}

// Integer results are computed in floating point and truncated.
DType SpaceType(Context& c) {
  const DType type = c.Result().dtype;
  return IsFloat(type) || IsComplex(type) ? ComputeType(type) : DType::kF32;
}

Outcome Linspace(Context& c) {
  const DType type = c.Result().dtype;
  const DType compute = SpaceType(c);
  if (c.Int("steps") == 0) return Zero(c);
  const Value start = WideScalar(c, "start", compute);
  const Value end = WideScalar(c, "end", compute);
  return hlo::Convert(Spaced(c, start, end, c.Int("steps")), type);
}

Outcome Logspace(Context& c) {
  const DType type = c.Result().dtype;
  if (c.Int("steps") == 0) return Zero(c);
  const DType compute = SpaceType(c);
  const Value exponent =
      Spaced(c, WideScalar(c, "start", compute), WideScalar(c, "end", compute), c.Int("steps"));
  return hlo::Convert(hlo::Pow(WideScalar(c, "base", compute), exponent), type);
}

Outcome Eye(Context& c) {
  const Dims& dims = c.Result().dims;
  const Value rows = hlo::Iota(c.builder(), DType::kI32, dims, 0);
  const Value columns = hlo::Iota(c.builder(), DType::kI32, dims, 1);
  return hlo::Convert(hlo::Eq(rows, columns), c.Result().dtype);
}

// The coordinates of a triangle in row-major order; sizes are static, so it is a table.
template <bool kLower>
Outcome TriangleIndices(Context& c) {
  const int64_t rows = c.Int("row");
  const int64_t columns = c.Int("col");
  const int64_t offset = c.Int("offset");
  std::vector<int64_t> row_list;
  std::vector<int64_t> column_list;
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t begin = kLower ? 0 : std::max<int64_t>(0, i + offset);
    const int64_t end = kLower ? std::min(columns, i + offset + 1) : columns;
    for (int64_t j = begin; j < end; ++j) {
      row_list.push_back(i);
      column_list.push_back(j);
    }
  }
  row_list.insert(row_list.end(), column_list.begin(), column_list.end());
  return hlo::ConstantList(c.builder(), c.Result().dtype, row_list, c.Result().dims);
}

constexpr Row kRows[] = {
    {"fill.Scalar(Tensor self, Scalar value) -> Tensor", FillScalar, {.checked_scalars = "value"}},
    {"fill.Tensor(Tensor self, Tensor value) -> Tensor", FillTensor},
    {"zero(Tensor self) -> Tensor", Zero},
    {"arange.start_out(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out) -> Tensor(a!)",
     Range},
    {"arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, "
     "Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     Range,
     {.captured_only = true}},
    {"range.out(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out) -> Tensor(a!)", Range},
    {"linspace.out(Scalar start, Scalar end, int steps, *, Tensor(a!) out) -> Tensor(a!)",
     Linspace},
    {"logspace.out(Scalar start, Scalar end, int steps, float base=10., *, Tensor(a!) out) -> "
     "Tensor(a!)",
     Logspace},
    {"eye.out(SymInt n, *, Tensor(a!) out) -> Tensor(a!)", Eye},
    {"eye.m_out(SymInt n, SymInt m, *, Tensor(a!) out) -> Tensor(a!)", Eye},
    {"tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     TriangleIndices<true>},
    {"triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     TriangleIndices<false>},
};

}  // namespace

std::span<const Row> CreationRows() { return kRows; }

}  // namespace tpjrt::lower
