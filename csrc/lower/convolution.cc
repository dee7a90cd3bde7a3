// Convolutions in 1 to 3 dims, plain and transposed, and their gradients.
//
// All are one of three contractions, each with the padding that gives the wanted size:
//   Correlate     slides the kernel over the input
//   Spread        its adjoint in the input: a transposed convolution
//   KernelGradient  its adjoint in the kernel
// A transposed convolution's forward is Spread, its input gradient Correlate.
#include "hlo/elementwise.h"
#include "hlo/reduce.h"
#include "hlo/shape.h"
#include "lower/contraction.h"
#include "lower/families.h"

namespace tpjrt::lower {
namespace {

struct Geometry {
  Dims stride, padding, dilation;  // one entry per spatial dim
  int64_t groups = 1;
  hlo::Precision precision = hlo::Precision::kHighest;

  size_t spatial() const { return stride.size(); }
};

Dims Expanded(const Dims& list, size_t spatial) {
  return list.size() == spatial ? list : Dims(spatial, list.at(0));
}

Geometry GeometryOf(Context& c, int64_t rank) {
  const size_t spatial = static_cast<size_t>(rank - 2);
  return {Expanded(c.Ints("stride"), spatial), Expanded(c.Ints("padding"), spatial),
          Expanded(c.Ints("dilation"), spatial), c.Int("groups"),
          PrecisionFor(c.TensorType("input").dtype)};
}

Dims SpatialDims(size_t spatial) {
  Dims dims;
  for (size_t i = 0; i < spatial; ++i) dims.push_back(static_cast<int64_t>(i) + 2);
  return dims;
}

Dims SizesFrom2(const Dims& dims) { return Dims(dims.begin() + 2, dims.end()); }

hlo::ConvDims Numbering(size_t spatial, int64_t rhs_input, int64_t rhs_output) {
  const Dims dims = SpatialDims(spatial);
  return {0, 1, rhs_input, rhs_output, 0, 1, dims, dims, dims};
}

// A kernel of `size` taps, `dilation` apart, spans this many elements.
int64_t Span(int64_t size, int64_t dilation) { return size == 0 ? 0 : (size - 1) * dilation + 1; }

// x [N, C, ...], kernel [O, C/groups, taps...] -> [N, O, out...].
Value Correlate(Value x, Value kernel, const Geometry& g, const Dims& out) {
  const size_t n = g.spatial();
  hlo::ConvWindow window{g.stride,   g.padding,  {},
                         Dims(n, 1), g.dilation, std::vector<bool>(n, false)};
  for (size_t i = 0; i < n; ++i) {
    const int64_t span = Span(kernel.dim(static_cast<int64_t>(i) + 2), g.dilation[i]);
    window.high.push_back((out[i] - 1) * g.stride[i] + span - x.dim(static_cast<int64_t>(i) + 2) -
                          g.padding[i]);
  }
  return hlo::Convolution(x, kernel, Numbering(n, 1, 0), window, g.groups, 1, g.precision);
}

// [O, C/g, ...] -> [O/g, g * C/g, ...]: the kernel of the adjoint, whose groups are side by side in
// its output features.
Value AdjointKernel(Value kernel, int64_t groups) {
  if (groups == 1) return kernel;
  Dims split = kernel.dims(), merged = kernel.dims(), permutation = {1, 0};
  split[0] = kernel.dim(0) / groups;
  split.insert(split.begin(), groups);
  for (int64_t d = 2; d <= kernel.rank(); ++d) permutation.push_back(d);
  merged[0] = kernel.dim(0) / groups;
  merged[1] = kernel.dim(1) * groups;
  return hlo::Reshape(hlo::Transpose(hlo::Reshape(kernel, split), permutation), merged);
}

// y [N, O, ...], kernel [O, C/groups, taps...] -> [N, C, out...].
Value Spread(Value y, Value kernel, const Geometry& g, const Dims& out) {
  const size_t n = g.spatial();
  hlo::ConvWindow window{Dims(n, 1), {}, {}, g.stride, g.dilation, std::vector<bool>(n, true)};
  for (size_t i = 0; i < n; ++i) {
    const int64_t d = static_cast<int64_t>(i) + 2;
    const int64_t span = Span(kernel.dim(d), g.dilation[i]);
    const int64_t low = span - 1 - g.padding[i];
    window.low.push_back(low);
    window.high.push_back(out[i] + span - 1 - Span(y.dim(d), g.stride[i]) - low);
  }
  return hlo::Convolution(y, AdjointKernel(kernel, g.groups), Numbering(n, 0, 1), window, g.groups,
                          1, g.precision);
}

// x [N, C, ...], grad [N, O, ...] -> [O, C/groups, taps...].
Value KernelGradient(Value x, Value grad, const Geometry& g, const Dims& taps) {
  const size_t n = g.spatial();
  hlo::ConvWindow window{g.dilation, g.padding, {},
                         Dims(n, 1), g.stride,  std::vector<bool>(n, false)};
  for (size_t i = 0; i < n; ++i) {
    const int64_t d = static_cast<int64_t>(i) + 2;
    window.high.push_back(Span(taps[i], g.dilation[i]) + Span(grad.dim(d), g.stride[i]) - 1 -
                          x.dim(d) - g.padding[i]);
  }
  const Dims spatial = SpatialDims(n);
  const hlo::ConvDims dims{1, 0, 0, 1, 1, 0, spatial, spatial, spatial};
  return hlo::Convolution(x, grad, dims, window, 1, g.groups, g.precision);
}

Outcome Convolution(Context& c) {
  const Type& out = c.Result();
  if (IsComplex(out.dtype) || out.dtype == DType::kBool) {
    return Unsupported{"convolution of complex or bool"};
  }
  const DType compute = AccumulateType(out.dtype);
  Value x = c.TensorAs("input", compute), kernel = c.TensorAs("weight", compute);
  const Geometry g = GeometryOf(c, x.rank());
  Value y;
  if (hlo::NumElements(out.dims) == 0 || x.num_elements() == 0 || kernel.num_elements() == 0) {
    y = hlo::Constant(c.builder(), compute, 0, out.dims);
  } else {
    const Dims sizes = SizesFrom2(out.dims);
    y = c.Bool("transposed") ? Spread(x, kernel, g, sizes) : Correlate(x, kernel, g, sizes);
  }
  if (c.Has("bias")) y = y + hlo::BroadcastInDim(c.TensorAs("bias", compute), out.dims, {1});
  return hlo::Convert(y, out.dtype);
}

Outcome ConvolutionBackward(Context& c) {
  const Type input = c.TensorType("input"), weight = c.TensorType("weight");
  if (IsComplex(input.dtype)) return Unsupported{"convolution of complex"};
  const DType compute = AccumulateType(input.dtype);
  const std::vector<bool> wanted = c.Bools("output_mask");
  const bool transposed = c.Bool("transposed");
  const Geometry g = GeometryOf(c, input.rank());
  Value grad = c.TensorAs("grad_output", compute);
  const bool empty = grad.num_elements() == 0 || hlo::NumElements(input.dims) == 0;

  std::vector<Value> results(3);
  if (wanted.at(0)) {
    const Dims sizes = SizesFrom2(input.dims);
    Value kernel = c.TensorAs("weight", compute);
    results[0] = empty        ? hlo::Constant(c.builder(), compute, 0, input.dims)
                 : transposed ? Correlate(grad, kernel, g, sizes)
                              : Spread(grad, kernel, g, sizes);
  }
  if (wanted.at(1)) {
    const Dims taps = SizesFrom2(weight.dims);
    Value x = c.TensorAs("input", compute);
    results[1] = empty        ? hlo::Constant(c.builder(), compute, 0, weight.dims)
                 : transposed ? KernelGradient(grad, x, g, taps)
                              : KernelGradient(x, grad, g, taps);
  }
  if (wanted.at(2)) {
    Dims reduced = SpatialDims(g.spatial());
    reduced.insert(reduced.begin(), 0);
    results[2] = hlo::ReduceSum(grad, reduced);
  }
  for (Value& result : results) {
    if (result.valid()) result = hlo::Convert(result, input.dtype);
  }
  return results;
}

constexpr Traits kCaptured{.captured_only = true};

const Row kRows[] = {
    {"convolution_overrideable(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, "
     "SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt "
     "groups) -> Tensor",
     Convolution},
    {"convolution_backward_overrideable(Tensor grad_output, Tensor input, Tensor weight, SymInt[] "
     "stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, "
     "SymInt groups, bool[3] output_mask) -> (Tensor grad_input, Tensor grad_weight, Tensor "
     "grad_bias)",
     ConvolutionBackward},
    // What captured graphs call the same.
    {"convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, "
     "SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor",
     Convolution, kCaptured},
    {"convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, "
     "SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] "
     "output_padding, SymInt groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
     ConvolutionBackward, kCaptured},
};

}  // namespace

std::span<const Row> ConvolutionRows() { return kRows; }

}  // namespace tpjrt::lower
