// PyTorch's view ops and their inverses as values of a captured graph, where nothing aliases. Eager
// views are PyTorch's own kernels over the same storage.
#include <algorithm>

#include "hlo/elementwise.h"
#include "hlo/index.h"
#include "hlo/shape.h"
#include "lower/families.h"
#include "lower/view.h"

namespace tpjrt::lower {
namespace {

Outcome Same(Context& c) { return c.Tensor("self"); }
Outcome AsResult(Context& c) { return hlo::Reshape(c.Tensor("self"), c.Result().dims); }
Outcome Expand(Context& c) { return hlo::BroadcastTo(c.Tensor("self"), c.Result().dims); }

Outcome Permute(Context& c) {
  const Value x = c.Tensor("self");
  Dims dims = c.Ints("dims");
  for (int64_t& dim : dims) dim = Context::WrapDim(dim, x.rank());
  return hlo::Transpose(x, dims);
}

Outcome TransposeDims(Context& c) {
  const Value x = c.Tensor("self");
  if (x.rank() == 0) return x;
  return hlo::SwapDims(x, Context::WrapDim(c.Int("dim0"), x.rank()),
                       Context::WrapDim(c.Int("dim1"), x.rank()));
}

Outcome MatrixTranspose(Context& c) {
  const Value x = c.Tensor("self");
  return x.rank() < 2 ? x : hlo::SwapDims(x, 0, 1);
}

// start, end and step of a slice of a dim of `size`, within bounds as PyTorch clamps them.
struct Range {
  int64_t start, limit, step;
};

Range RangeOf(Context& c, int64_t size) {
  const auto clamped = [size](int64_t i) {
    return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size);
  };
  const int64_t start = c.Has("start") ? clamped(c.Int("start")) : 0;
  const int64_t end = c.Has("end") ? clamped(c.Int("end")) : size;
  return {start, std::max(start, end), c.Int("step")};
}

Outcome Slice(Context& c) {
  const Value x = c.Tensor("self");
  const int64_t dim = Context::WrapDim(c.Int("dim"), x.rank());
  const Range range = RangeOf(c, x.dim(dim));
  return hlo::SliceDim(x, dim, range.start, range.limit, range.step);
}

int64_t IndexIn(Context& c, int64_t size) {
  const int64_t index = c.Int("index");
  return index < 0 ? index + size : index;
}

Outcome Select(Context& c) {
  const Value x = c.Tensor("self");
  const int64_t dim = Context::WrapDim(c.Int("dim"), x.rank());
  const int64_t index = IndexIn(c, x.dim(dim));
  return hlo::Reshape(hlo::SliceDim(x, dim, index, index + 1), c.Result().dims);
}

// Results that lie one after the other along dim.
Outcome Pieces(Context& c) {
  const Value x = c.Tensor("self");
  const int64_t dim = Context::WrapDim(c.Int("dim"), x.rank());
  std::vector<Value> pieces;
  int64_t start = 0;
  for (int i = 0; i < c.num_results(); ++i) {
    const bool drops_dim = c.Result(i).rank() < x.rank();
    const int64_t limit = start + (drops_dim ? 1 : c.Result(i).dims[static_cast<size_t>(dim)]);
    pieces.push_back(hlo::Reshape(hlo::SliceDim(x, dim, start, limit), c.Result(i).dims));
    start = limit;
  }
  return pieces;
}

// Strides of a row-major tensor of these dims.
Dims RowMajor(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;)
    strides[i - 1] = strides[i] * std::max<int64_t>(dims[i], 1);
  return strides;
}

// A strided window on a value laid out row-major, at a known offset.
struct Window {
  ir::Geometry geometry;
  int64_t offset = 0;
};

Value OffsetValue(Context& c, Window& window) {
  window.geometry.zero_offset = window.offset == 0;
  if (window.offset == 0) return {};
  return hlo::ConstantInt(c.builder(), DType::kI64, window.offset);
}

Value ReadWindow(Context& c, Value x, Window window) {
  window.geometry.form =
      PlanForm(x.dims(), window.geometry.sizes, window.geometry.strides, window.offset);
  const Value offset = OffsetValue(c, window);
  return ReadView(x, window.geometry, offset);
}

Value WriteWindow(Context& c, Value x, Window window, Value update) {
  window.geometry.form =
      PlanForm(x.dims(), window.geometry.sizes, window.geometry.strides, window.offset);
  const Value offset = OffsetValue(c, window);
  update = hlo::Convert(hlo::Reshape(update, window.geometry.sizes), x.dtype());
  return hlo::Reshape(WriteView(x, x.type(), window.geometry, offset, update), x.dims());
}

Window DiagonalWindow(Context& c, const Dims& dims) {
  const auto rank = static_cast<int64_t>(dims.size());
  const auto dim1 = static_cast<size_t>(Context::WrapDim(c.Int("dim1"), rank));
  const auto dim2 = static_cast<size_t>(Context::WrapDim(c.Int("dim2"), rank));
  const int64_t offset = c.Int("offset");
  const Dims strides = RowMajor(dims);
  Window window;
  const int64_t length = offset >= 0 ? std::min(dims[dim1], dims[dim2] - offset)
                                     : std::min(dims[dim1] + offset, dims[dim2]);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i == dim1 || i == dim2) continue;
    window.geometry.sizes.push_back(dims[i]);
    window.geometry.strides.push_back(strides[i]);
  }
  window.geometry.sizes.push_back(std::max<int64_t>(length, 0));
  window.geometry.strides.push_back(strides[dim1] + strides[dim2]);
  if (length > 0) window.offset = offset >= 0 ? offset * strides[dim2] : -offset * strides[dim1];
  return window;
}

Outcome Diagonal(Context& c) {
  const Value x = c.Tensor("self");
  return ReadWindow(c, x, DiagonalWindow(c, x.dims()));
}

Outcome DiagonalScatter(Context& c) {
  const Value x = c.Tensor("self");
  return WriteWindow(c, x, DiagonalWindow(c, x.dims()), c.Tensor("src"));
}

Outcome DiagonalBackward(Context& c) {
  const Value zeros = hlo::Constant(c.builder(), c.Result().dtype, 0, c.Result().dims);
  return WriteWindow(c, zeros, DiagonalWindow(c, zeros.dims()), c.Tensor("grad_output"));
}

// The window counts from the start of self's storage: right only where self lies row-major at its
// start, which whoever captured the graph has to know.
Window StridedWindow(Context& c) {
  Window window;
  window.geometry.sizes = c.Ints("size");
  window.geometry.strides = c.Ints("stride");
  window.offset = c.Has("storage_offset") ? c.Int("storage_offset") : 0;
  return window;
}

Outcome AsStrided(Context& c) { return ReadWindow(c, c.Tensor("self"), StridedWindow(c)); }
Outcome AsStridedScatter(Context& c) {
  return WriteWindow(c, c.Tensor("self"), StridedWindow(c), c.Tensor("src"));
}

Outcome Unfold(Context& c) {
  const Value x = c.Tensor("self");
  if (x.rank() == 0) return hlo::Reshape(x, c.Result().dims);
  const auto dim = static_cast<size_t>(Context::WrapDim(c.Int("dimension"), x.rank()));
  Window window;
  window.geometry.sizes = c.Result().dims;
  window.geometry.strides = RowMajor(x.dims());
  window.geometry.strides.push_back(window.geometry.strides[dim]);
  window.geometry.strides[dim] *= c.Int("step");
  return ReadWindow(c, x, window);
}

Outcome ViewDtype(Context& c) {
  return hlo::Reshape(Reinterpret(c.Tensor("self"), c.Result().dtype), c.Result().dims);
}
Outcome Conjugated(Context& c) { return hlo::Conj(c.Tensor("self")); }
Outcome Negated(Context& c) { return -c.Tensor("self"); }
Outcome Converted(Context& c) { return c.TensorAs("self", c.Result().dtype); }

// `x` with the range along dim replaced by `update`.
Value PutRange(Value x, int64_t dim, const Range& range, Value update) {
  update = hlo::Convert(update, x.dtype());
  if (update.num_elements() == 0) return x;
  Dims where(static_cast<size_t>(x.rank()), 0);
  where[static_cast<size_t>(dim)] = range.start;
  if (range.step == 1) {
    std::vector<Value> starts;
    for (const int64_t start : where) {
      starts.push_back(hlo::ConstantInt(x.builder(), DType::kI32, start));
    }
    return hlo::DynamicUpdateSlice(x, update, starts);
  }
  // Spread the update out and choose by position.
  Dims low(where.size(), 0), high(where.size(), 0), interior(where.size(), 0);
  const auto d = static_cast<size_t>(dim);
  const int64_t span = (update.dim(dim) - 1) * range.step + 1;
  low[d] = range.start;
  high[d] = x.dim(dim) - range.start - span;
  interior[d] = range.step - 1;
  const Value fill = hlo::Constant(x.builder(), x.dtype(), 0);
  const Value mask = hlo::Constant(x.builder(), DType::kBool, 1, update.dims());
  const Value outside = hlo::Constant(x.builder(), DType::kBool, 0);
  return hlo::Select(hlo::Pad(mask, outside, low, high, interior),
                     hlo::Pad(update, fill, low, high, interior), x);
}

Value Zeros(Context& c) { return hlo::Constant(c.builder(), c.Result().dtype, 0, c.Result().dims); }

Outcome PutSlice(Context& c, Value x, std::string_view source) {
  const int64_t dim = Context::WrapDim(c.Int("dim"), x.rank());
  return PutRange(x, dim, RangeOf(c, x.dim(dim)), c.Tensor(source));
}
Outcome SliceScatter(Context& c) { return PutSlice(c, c.Tensor("self"), "src"); }
Outcome SliceBackward(Context& c) { return PutSlice(c, Zeros(c), "grad_output"); }

Outcome PutSelected(Context& c, Value x, std::string_view source) {
  const int64_t dim = Context::WrapDim(c.Int("dim"), x.rank());
  const int64_t index = IndexIn(c, x.dim(dim));
  return PutRange(x, dim, {index, index + 1, 1}, hlo::Unsqueeze(c.Tensor(source), dim));
}
Outcome SelectScatter(Context& c) { return PutSelected(c, c.Tensor("self"), "src"); }
Outcome SelectBackward(Context& c) { return PutSelected(c, Zeros(c), "grad_output"); }

constexpr Traits kCaptured{.captured_only = true};

constexpr Row kRows[] = {
    {"alias(Tensor(a) self) -> Tensor(a)", Same, kCaptured},
    {"detach(Tensor(a) self) -> Tensor(a)", Same, kCaptured},
    {"lift(Tensor self) -> Tensor", Same, kCaptured},
    {"lift_fresh(Tensor(a) self) -> Tensor(a)", Same, kCaptured},
    {"lift_fresh_copy(Tensor self) -> Tensor", Same, kCaptured},
    {"view(Tensor(a) self, SymInt[] size) -> Tensor(a)", AsResult, kCaptured},
    {"_unsafe_view(Tensor self, SymInt[] size) -> Tensor", AsResult, kCaptured},
    {"_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)", AsResult,
     kCaptured},
    {"squeeze(Tensor(a) self) -> Tensor(a)", AsResult, kCaptured},
    {"squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", AsResult, kCaptured},
    {"squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)", AsResult, kCaptured},
    {"unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", AsResult, kCaptured},
    {"expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)", Expand,
     kCaptured},
    {"permute(Tensor(a) self, int[] dims) -> Tensor(a)", Permute, kCaptured},
    {"transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", TransposeDims, kCaptured},
    {"t(Tensor(a) self) -> Tensor(a)", MatrixTranspose, kCaptured},
    {"slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) "
     "-> Tensor(a)",
     Slice, kCaptured},
    {"select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)", Select, kCaptured},
    {"split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]", Pieces,
     kCaptured},
    {"split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]",
     Pieces, kCaptured},
    {"unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]", Pieces,
     kCaptured},
    {"unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]", Pieces,
     kCaptured},
    {"unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]", Pieces, kCaptured},
    {"diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)", Diagonal,
     kCaptured},
    {"unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)", Unfold, kCaptured},
    {"as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> "
     "Tensor(a)",
     AsStrided, kCaptured},
    {"view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)", ViewDtype, kCaptured},
    {"view_as_real(Tensor(a) self) -> Tensor(a)", ViewDtype, kCaptured},
    {"view_as_complex(Tensor(a) self) -> Tensor(a)", ViewDtype, kCaptured},
    {"_conj(Tensor(a) self) -> Tensor(a)", Conjugated, kCaptured},
    {"_neg_view(Tensor(a) self) -> Tensor(a)", Negated, kCaptured},
    {"_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
     Converted, kCaptured},
    {"slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, "
     "SymInt step=1) -> Tensor",
     SliceScatter, kCaptured},
    {"select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor", SelectScatter,
     kCaptured},
    {"diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor",
     DiagonalScatter, kCaptured},
    {"as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? "
     "storage_offset=None) -> Tensor",
     AsStridedScatter, kCaptured},
    {"slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, "
     "SymInt step) -> Tensor",
     SliceBackward, kCaptured},
    {"select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor",
     SelectBackward, kCaptured},
    {"diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2) "
     "-> Tensor",
     DiagonalBackward, kCaptured},
};

}  // namespace

std::span<const Row> ViewRows() { return kRows; }

}  // namespace tpjrt::lower
