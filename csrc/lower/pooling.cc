// Pooling: averages here, maxima in max_pooling.cc. Half types are averaged in float32.
#include <algorithm>

#include "hlo/elementwise.h"
#include "hlo/reduce.h"
#include "hlo/shape.h"
#include "lower/families.h"
#include "lower/linear_map.h"
#include "lower/max_pooling.h"
#include "lower/pool_geometry.h"

namespace tpjrt::lower {
namespace {

struct AverageGeometry {
  Dims sizes, strides, padding;  // per spatial dim
  Dims inputs, outputs;          // per spatial dim
  std::vector<Dims> counts;      // per spatial dim: elements each window averages over
  int64_t divisor = 0;           // the given one, or 0
};

// How many elements window o counts: all inside the padding, or only inside the input.
int64_t CountOf(int64_t o, int64_t size, int64_t stride, int64_t padding, int64_t inputs,
                bool include_padding) {
  const int64_t start = o * stride - padding;
  const int64_t end = std::min(start + size, inputs + padding);
  if (include_padding) return end - start;
  return std::min(end, inputs) - std::max<int64_t>(start, 0);
}

AverageGeometry GeometryOf(Context& c, int64_t spatial, const Dims& input, const Dims& output) {
  AverageGeometry g;
  g.sizes = SpatialList(c, "kernel_size", spatial, {});
  g.strides = SpatialList(c, "stride", spatial, g.sizes);
  g.padding = SpatialList(c, "padding", spatial, Dims(g.sizes.size(), 0));
  g.inputs = Dims(input.end() - spatial, input.end());
  g.outputs = Dims(output.end() - spatial, output.end());
  if (c.Has("divisor_override")) g.divisor = c.Int("divisor_override");
  const bool include_padding = c.Bool("count_include_pad");
  for (size_t i = 0; i < g.sizes.size(); ++i) {
    Dims counts;
    for (int64_t o = 0; o < g.outputs[i]; ++o) {
      counts.push_back(
          CountOf(o, g.sizes[i], g.strides[i], g.padding[i], g.inputs[i], include_padding));
    }
    g.counts.push_back(counts);
  }
  return g;
}

// x (pooled dims) divided by what each window counts.
Value DivideByCounts(Value x, const AverageGeometry& g) {
  hlo::Builder& b = x.builder();
  if (g.divisor != 0) return x / hlo::ConstantInt(b, x.dtype(), g.divisor, x.dims());
  Value divisor = hlo::ConstantInt(b, x.dtype(), 1, x.dims());
  for (size_t i = 0; i < g.counts.size(); ++i) {
    const int64_t n = std::ssize(g.counts[i]);
    const int64_t dim = x.rank() - std::ssize(g.counts) + static_cast<int64_t>(i);
    Value counts = hlo::Convert(hlo::ConstantList(b, DType::kI64, g.counts[i], {n}), x.dtype());
    divisor = divisor * hlo::BroadcastInDim(counts, x.dims(), {dim});
  }
  return x / divisor;
}

hlo::Window WindowOf(const AverageGeometry& g, int64_t rank) {
  hlo::Window window = hlo::Window::Unit(rank);
  for (size_t i = 0; i < g.sizes.size(); ++i) {
    const size_t d = static_cast<size_t>(rank) - g.sizes.size() + i;
    window.sizes[d] = g.sizes[i];
    window.strides[d] = g.strides[i];
    window.low[d] = g.padding[i];
    window.high[d] = std::max<int64_t>(
        0, (g.outputs[i] - 1) * g.strides[i] + g.sizes[i] - g.inputs[i] - g.padding[i]);
  }
  return window;
}

// The adjoint of summing windows: each element gathers the windows that cover it.
hlo::Window AdjointWindowOf(const AverageGeometry& g, int64_t rank) {
  hlo::Window window = hlo::Window::Unit(rank);
  for (size_t i = 0; i < g.sizes.size(); ++i) {
    const size_t d = static_cast<size_t>(rank) - g.sizes.size() + i;
    window.sizes[d] = g.sizes[i];
    window.base_dilations[d] = g.strides[i];
    window.low[d] = g.sizes[i] - 1 - g.padding[i];
    window.high[d] = g.inputs[i] - 1 - (g.outputs[i] - 1) * g.strides[i] + g.padding[i];
  }
  return window;
}

template <int spatial>
Outcome AveragePool(Context& c) {
  const Type out = c.Result();
  Value x = c.TensorAs("self", ComputeType(out.dtype));
  const AverageGeometry g = GeometryOf(c, spatial, x.dims(), out.dims);
  Value sums = hlo::ReduceWindowSum(x, WindowOf(g, x.rank()));
  return hlo::Convert(DivideByCounts(sums, g), out.dtype);
}

template <int spatial>
Outcome AveragePoolBackward(Context& c) {
  const Type out = c.Result();
  Value grad = c.TensorAs("grad_output", ComputeType(out.dtype));
  const AverageGeometry g = GeometryOf(c, spatial, out.dims, grad.dims());
  Value shares = DivideByCounts(grad, g);
  return hlo::Convert(hlo::ReduceWindowSum(shares, AdjointWindowOf(g, grad.rank())), out.dtype);
}

LinearMap AdaptiveSums(int64_t inputs, int64_t outputs) {
  LinearMap map;
  map.inputs = inputs;
  for (int64_t o = 0; o < outputs; ++o) {
    auto& row = map.rows.emplace_back();
    const int64_t end = AdaptiveEnd(o, inputs, outputs);
    for (int64_t i = AdaptiveStart(o, inputs, outputs); i < end; ++i) row.push_back({i, 1.0});
  }
  return map;
}

// One element per window, from sums along each spatial dim and then one division.
AverageGeometry AdaptiveCounts(int64_t spatial, const Dims& input, const Dims& output) {
  AverageGeometry g;
  for (size_t d = input.size() - static_cast<size_t>(spatial); d < input.size(); ++d) {
    Dims counts;
    for (int64_t o = 0; o < output[d]; ++o) {
      counts.push_back(AdaptiveEnd(o, input[d], output[d]) - AdaptiveStart(o, input[d], output[d]));
    }
    g.counts.push_back(counts);
  }
  return g;
}

template <int spatial>
Outcome AdaptiveAveragePool(Context& c) {
  const Type out = c.Result();
  Value x = c.TensorAs("self", ComputeType(out.dtype));
  const AverageGeometry g = AdaptiveCounts(spatial, x.dims(), out.dims);
  for (int64_t d = x.rank() - spatial; d < x.rank(); ++d) {
    const int64_t outputs = out.dims[static_cast<size_t>(d)];
    x = outputs == 1 ? hlo::Unsqueeze(hlo::ReduceSum(x, {d}), d)
                     : Apply(AdaptiveSums(x.dim(d), outputs), x, d);
  }
  return hlo::Convert(DivideByCounts(x, g), out.dtype);
}

template <int spatial>
Outcome AdaptiveAveragePoolBackward(Context& c) {
  const Type out = c.Result();
  Value grad = c.TensorAs("grad_output", ComputeType(out.dtype));
  Value x = DivideByCounts(grad, AdaptiveCounts(spatial, out.dims, grad.dims()));
  for (int64_t d = grad.rank() - spatial; d < grad.rank(); ++d) {
    x = Apply(Transposed(AdaptiveSums(out.dims[static_cast<size_t>(d)], grad.dim(d))), x, d);
  }
  return hlo::Convert(x, out.dtype);
}

const Row kRows[] = {
    {"avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool "
     "ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
     AveragePool<2>},
    {"avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool "
     "ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
     AveragePool<3>},
    {"avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, "
     "int[2] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor",
     AveragePoolBackward<2>},
    {"avg_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, "
     "int[3] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor",
     AveragePoolBackward<3>},
    {"_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor", AdaptiveAveragePool<2>},
    {"_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor", AdaptiveAveragePool<3>},
    {"_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor",
     AdaptiveAveragePoolBackward<2>},
    {"_adaptive_avg_pool3d_backward(Tensor grad_output, Tensor self) -> Tensor",
     AdaptiveAveragePoolBackward<3>},
    {"max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] "
     "padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
     MaxPool<2>},
    {"max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] "
     "padding=0, int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
     MaxPool<3>},
    {"max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] "
     "stride, int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor",
     MaxPoolBackward<2>},
    {"max_pool3d_with_indices_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] "
     "stride, int[3] padding, int[3] dilation, bool ceil_mode, Tensor indices) -> Tensor",
     MaxPoolBackward<3>},
    {"adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)",
     AdaptiveMaxPool<2>},
    {"adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)",
     AdaptiveMaxPool<3>},
    {"adaptive_max_pool2d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor",
     MaxPoolBackward<2>},
    {"adaptive_max_pool3d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor",
     MaxPoolBackward<3>},
    {"max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor", MaxUnpool<2>},
    {"max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] "
     "padding) -> Tensor",
     MaxUnpool<3>},
    {"fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, Tensor "
     "random_samples) -> (Tensor, Tensor)",
     FractionalMaxPool<2>},
    {"fractional_max_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] "
     "output_size, Tensor indices) -> Tensor",
     MaxPoolBackward<2>},
    {"fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] output_size, Tensor "
     "random_samples) -> (Tensor, Tensor)",
     FractionalMaxPool<3>},
    {"fractional_max_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] "
     "output_size, Tensor indices) -> Tensor",
     MaxPoolBackward<3>},
};

}  // namespace

std::span<const Row> PoolingRows() { return kRows; }

}  // namespace tpjrt::lower
