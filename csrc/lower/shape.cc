// Ops that move or repeat elements: joins, reversals, triangles, pads, windows, shuffles.
#include "hlo/shape.h"

#include "hlo/elementwise.h"
#include "hlo/reduce.h"
#include "lower/families.h"
#include "lower/padding.h"
#include "lower/unfold.h"

namespace tpjrt::lower {
namespace {

Outcome Cat(Context& c) {
  const Type& out = c.Result();
  std::vector<Value> parts;
  for (const Value& part : c.TensorListAs("tensors", out.dtype)) {
    // PyTorch lets empty 1-d tensors join anything.
    const bool legacy_empty = part.rank() == 1 && part.dim(0) == 0 && out.rank() != 1;
    if (!legacy_empty) parts.push_back(part);
  }
  if (parts.empty()) return hlo::Constant(c.builder(), out.dtype, 0, out.dims);
  if (parts.size() == 1) return parts[0];
  return hlo::Concatenate(parts, Context::WrapDim(c.Int("dim"), out.rank()));
}

Outcome Flip(Context& c) {
  Value x = c.Tensor("self");
  Dims dims = c.Ints("dims");
  for (int64_t& dim : dims) dim = Context::WrapDim(dim, x.rank());
  if (x.rank() == 0 || dims.empty()) return x;
  return hlo::Reverse(x, dims);
}

// A window of the tensor beside itself; `shift` is of type i64 and rank 0.
Value RollDim(Value x, int64_t dim, Value shift) {
  const int64_t size = x.dim(dim);
  if (size < 2) return x;
  const Value count = hlo::ConstantInt(x.builder(), DType::kI64, size);
  const Value start = hlo::Rem(count - hlo::Rem(shift, count), count);  // -shift modulo size
  const Value zero = hlo::ZerosLike(count);
  std::vector<Value> starts(static_cast<size_t>(x.rank()), zero);
  starts[static_cast<size_t>(dim)] = start;
  const Value twice[] = {x, x};
  return hlo::DynamicSlice(hlo::Concatenate(twice, dim), starts, x.dims());
}

Outcome Roll(Context& c) {
  Value x = c.Tensor("self");
  const Dims dims = c.Ints("dims");
  const auto shift = [&](size_t i) { return c.ScalarAt("shifts", i, DType::kI64); };
  if (x.rank() == 0 || x.num_elements() == 0) return x;
  if (dims.empty()) {
    return hlo::Reshape(RollDim(hlo::Flatten(x), 0, shift(0)), x.dims());
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    x = RollDim(x, Context::WrapDim(dims[i], x.rank()), shift(i));
  }
  return x;
}

Outcome Repeat(Context& c) {
  Value x = c.Tensor("self");
  const Dims repeats = c.Ints("repeats");
  const int64_t added = static_cast<int64_t>(repeats.size()) - x.rank();
  Dims paired, mapping;
  for (size_t i = 0; i < repeats.size(); ++i) {
    const int64_t d = static_cast<int64_t>(i) - added;
    paired.push_back(repeats[i]);
    if (d < 0) continue;
    mapping.push_back(static_cast<int64_t>(paired.size()));
    paired.push_back(x.dim(d));
  }
  return hlo::Reshape(hlo::BroadcastInDim(x, paired, mapping), c.Result().dims);
}

enum class Keep { kLower, kUpper };

template <Keep keep>
Outcome Triangle(Context& c) {
  Value x = c.Tensor("self");
  hlo::Builder& b = c.builder();
  const Dims matrix = {x.dim(-2), x.dim(-1)};
  Value distance = hlo::Iota(b, DType::kI64, matrix, 1) - hlo::Iota(b, DType::kI64, matrix, 0);
  Value diagonal = hlo::BroadcastTo(c.Scalar("diagonal", DType::kI64), matrix);
  Value mask = keep == Keep::kLower ? hlo::Le(distance, diagonal) : hlo::Ge(distance, diagonal);
  mask = hlo::BroadcastInDim(mask, x.dims(), {x.rank() - 2, x.rank() - 1});
  return hlo::Select(mask, x, hlo::ZerosLike(x));
}

Outcome Trace(Context& c) {
  Value x = c.Tensor("self");
  Value diagonal = hlo::Eq(hlo::Iota(c.builder(), DType::kI32, x.dims(), 0),
                           hlo::Iota(c.builder(), DType::kI32, x.dims(), 1));
  const DType dtype = c.Result().dtype;
  x = hlo::Convert(x, ComputeType(dtype));
  return hlo::Convert(hlo::ReduceSum(hlo::Select(diagonal, x, hlo::ZerosLike(x)), {0, 1}), dtype);
}

Outcome ChannelShuffle(Context& c) {
  Value x = c.Tensor("self");
  const int64_t groups = c.Int("groups");
  Dims split = x.dims(), permutation = {0, 2, 1};
  split[1] = x.dim(1) / groups;
  split.insert(split.begin() + 1, groups);
  for (int64_t d = 3; d <= x.rank(); ++d) permutation.push_back(d);
  return hlo::Reshape(hlo::Transpose(hlo::Reshape(x, split), permutation), x.dims());
}

// The dims before the last three, then `tail`.
Dims WithTail(Value x, const Dims& tail) {
  Dims dims(x.dims().begin(), x.dims().end() - 3);
  dims.insert(dims.end(), tail.begin(), tail.end());
  return dims;
}

Dims PermuteTail(Value x, const Dims& tail) {
  Dims permutation;
  for (int64_t d = 0; d < x.rank() - 3; ++d) permutation.push_back(d);
  for (int64_t d : tail) permutation.push_back(x.rank() - 3 + d);
  return permutation;
}

Outcome PixelShuffle(Context& c) {
  Value x = c.Tensor("self");
  const int64_t r = c.Int("upscale_factor");
  Value split = hlo::Reshape(x, WithTail(x, {x.dim(-3) / (r * r), r, r, x.dim(-2), x.dim(-1)}));
  return hlo::Reshape(hlo::Transpose(split, PermuteTail(x, {0, 3, 1, 4, 2})), c.Result().dims);
}

Outcome PixelUnshuffle(Context& c) {
  Value x = c.Tensor("self");
  const int64_t r = c.Int("downscale_factor");
  Value split = hlo::Reshape(x, WithTail(x, {x.dim(-3), x.dim(-2) / r, r, x.dim(-1) / r, r}));
  return hlo::Reshape(hlo::Transpose(split, PermuteTail(x, {0, 2, 4, 1, 3})), c.Result().dims);
}

const Row kRows[] = {
    {"cat(Tensor[] tensors, int dim=0) -> Tensor", Cat},
    {"flip(Tensor self, int[] dims) -> Tensor", Flip},
    {"roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor",
     Roll,
     {.runtime_numbers = "shifts"}},
    {"repeat(Tensor self, SymInt[] repeats) -> Tensor", Repeat},
    {"tril(Tensor self, SymInt diagonal=0) -> Tensor",
     Triangle<Keep::kLower>,
     {.runtime_numbers = "diagonal"}},
    {"triu(Tensor self, SymInt diagonal=0) -> Tensor",
     Triangle<Keep::kUpper>,
     {.runtime_numbers = "diagonal"}},
    {"trace(Tensor self) -> Tensor", Trace},
    {"constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
     ConstantPad,
     {.checked_scalars = "value"}},
    {"reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor", ReflectionPad},
    {"reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor", ReflectionPad},
    {"reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor", ReflectionPad},
    {"reflection_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding) -> Tensor",
     ReflectionPadBackward},
    {"reflection_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor",
     ReflectionPadBackward},
    {"reflection_pad3d_backward(Tensor grad_output, Tensor self, SymInt[6] padding) -> Tensor",
     ReflectionPadBackward},
    {"replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor", ReplicationPad},
    {"replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor", ReplicationPad},
    {"replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor", ReplicationPad},
    {"replication_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding) -> Tensor",
     ReplicationPadBackward},
    {"replication_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor",
     ReplicationPadBackward},
    {"replication_pad3d_backward(Tensor grad_output, Tensor self, SymInt[6] padding) -> Tensor",
     ReplicationPadBackward},
    {"im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> "
     "Tensor",
     Im2Col},
    {"col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] "
     "padding, int[2] stride) -> Tensor",
     Col2Im},
    {"unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) -> Tensor",
     UnfoldBackward},
    {"channel_shuffle(Tensor self, SymInt groups) -> Tensor", ChannelShuffle},
    {"pixel_shuffle(Tensor self, int upscale_factor) -> Tensor", PixelShuffle},
    {"pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor", PixelUnshuffle},
};

}  // namespace

std::span<const Row> ShapeRows() { return kRows; }

}  // namespace tpjrt::lower
