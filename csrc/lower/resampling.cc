// Interpolation: nearest, linear and cubic in 1 to 3 dims and their gradients; grid sampling is in
// grid_sample.cc.
//
// Each is a product of linear maps, one per spatial dim. Source positions are computed here in the
// type PyTorch uses (float for all but float64), so that the picked elements agree.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "hlo/elementwise.h"
#include "lower/families.h"
#include "lower/grid_sample.h"
#include "lower/linear_map.h"

namespace tpjrt::lower {
namespace {

enum class Kernel { kNearest, kNearestExact, kLinear, kCubic };

struct Axis {
  int64_t inputs, outputs;
  bool align_corners;
  std::optional<double> scale;  // outputs per input, where the caller gave one
};

// Inputs per output.
template <typename T>
T StepOf(const Axis& a) {
  if (a.align_corners) {
    return a.outputs > 1 ? static_cast<T>(a.inputs - 1) / static_cast<T>(a.outputs - 1) : T{0};
  }
  if (a.scale && *a.scale > 0) return static_cast<T>(1.0 / *a.scale);
  return static_cast<T>(a.inputs) / static_cast<T>(a.outputs);
}

template <typename T>
T CenterOf(const Axis& a, int64_t o) {
  const T step = StepOf<T>(a);
  if (a.align_corners) return step * static_cast<T>(o);
  return step * (static_cast<T>(o) + T{0.5}) - T{0.5};
}

template <typename T>
std::vector<LinearMap::Term> NearestTerms(const Axis& a, int64_t o, bool exact) {
  const T position = exact ? CenterOf<T>(a, o) + T{0.5} : StepOf<T>(a) * static_cast<T>(o);
  return {{std::min(static_cast<int64_t>(std::floor(position)), a.inputs - 1), 1.0}};
}

template <typename T>
std::vector<LinearMap::Term> LinearTerms(const Axis& a, int64_t o) {
  if (a.inputs == a.outputs) return {{o, 1.0}};
  const T position = std::max(CenterOf<T>(a, o), T{0});
  const int64_t first = std::min(static_cast<int64_t>(position), a.inputs - 1);
  const int64_t second = std::min(first + 1, a.inputs - 1);
  const T weight = std::clamp(position - static_cast<T>(first), T{0}, T{1});
  return {{first, T{1} - weight}, {second, weight}};
}

// Keys' cubic convolution with A = -0.75.
template <typename T>
std::array<T, 4> CubicWeights(T t) {
  constexpr T kA = T{-0.75};
  const auto near = [](T x) { return ((kA + 2) * x - (kA + 3)) * x * x + 1; };
  const auto far = [](T x) { return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

template <typename T>
std::vector<LinearMap::Term> CubicTerms(const Axis& a, int64_t o) {
  const T position = CenterOf<T>(a, o);
  const int64_t base = std::min(static_cast<int64_t>(std::floor(position)), a.inputs - 1);
  const T t = std::clamp(position - static_cast<T>(base), T{0}, T{1});
  const std::array<T, 4> weights = CubicWeights<T>(t);
  std::vector<LinearMap::Term> terms;
  for (int64_t j = 0; j < 4; ++j) {
    terms.push_back(
        {std::clamp<int64_t>(base - 1 + j, 0, a.inputs - 1), weights[static_cast<size_t>(j)]});
  }
  return terms;
}

template <typename T>
LinearMap MapOf(Kernel kernel, const Axis& a) {
  LinearMap map;
  map.inputs = a.inputs;
  for (int64_t o = 0; o < a.outputs; ++o) {
    switch (kernel) {
      case Kernel::kLinear:
        map.rows.push_back(LinearTerms<T>(a, o));
        break;
      case Kernel::kCubic:
        map.rows.push_back(CubicTerms<T>(a, o));
        break;
      default:
        map.rows.push_back(NearestTerms<T>(a, o, kernel == Kernel::kNearestExact));
    }
  }
  return map;
}

constexpr bool IsNearest(Kernel kernel) {
  return kernel == Kernel::kNearest || kernel == Kernel::kNearestExact;
}

// The scale arguments, one per spatial dim: "scales" in 1-d, else by axis.
std::optional<double> ScaleOf(Context& c, int spatial, int axis) {
  static constexpr std::string_view kNames[] = {"scales_d", "scales_h", "scales_w"};
  const std::string_view name = spatial == 1 ? "scales" : kNames[3 - spatial + axis];
  return c.Has(name) ? std::optional(c.StaticDouble(name)) : std::nullopt;
}

// Resamples the last `spatial` dims of x between `inputs` and `outputs` (dims of the forward's two
// sides), backwards when asked.
template <Kernel kernel, int spatial>
Value Resample(Context& c, Value x, const Dims& inputs, const Dims& outputs, bool transposed) {
  const bool align = !IsNearest(kernel) && c.Bool("align_corners");
  for (int i = spatial - 1; i >= 0; --i) {
    const size_t d = static_cast<size_t>(2 + i);
    const Axis axis{inputs.at(d), outputs.at(d), align, ScaleOf(c, spatial, i)};
    LinearMap map =
        x.dtype() == DType::kF64 ? MapOf<double>(kernel, axis) : MapOf<float>(kernel, axis);
    x = Apply(transposed ? Transposed(map) : map, x, 2 + i);
  }
  return x;
}

template <Kernel kernel, int spatial>
Outcome Forward(Context& c) {
  const Type out = c.Result();
  if (!IsNearest(kernel) && !IsFloat(out.dtype)) {
    return Unsupported{"interpolation of integers"};
  }
  Value x = c.TensorAs("self", IsNearest(kernel) ? out.dtype : ComputeType(out.dtype));
  return hlo::Convert(Resample<kernel, spatial>(c, x, x.dims(), out.dims, false), out.dtype);
}

template <Kernel kernel, int spatial>
Outcome Backward(Context& c) {
  const Type out = c.Result();
  Value grad = c.TensorAs("grad_output", ComputeType(out.dtype));
  return hlo::Convert(Resample<kernel, spatial>(c, grad, out.dims, grad.dims(), true), out.dtype);
}

constexpr Traits kScale{.static_scalars = "scales"};
constexpr Traits kScales2{.static_scalars = "scales_h,scales_w"};
constexpr Traits kScales3{.static_scalars = "scales_d,scales_h,scales_w"};

const Row kRows[] = {
    {"upsample_nearest1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor",
     Forward<Kernel::kNearest, 1>, kScale},
    {"upsample_nearest1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] input_size, "
     "float? scales=None) -> Tensor",
     Backward<Kernel::kNearest, 1>, kScale},
    {"upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? "
     "scales_w=None) -> Tensor",
     Forward<Kernel::kNearest, 2>, kScales2},
    {"upsample_nearest2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, "
     "float? scales_h=None, float? scales_w=None) -> Tensor",
     Backward<Kernel::kNearest, 2>, kScales2},
    {"upsample_nearest3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? "
     "scales_h=None, float? scales_w=None) -> Tensor",
     Forward<Kernel::kNearest, 3>, kScales3},
    {"upsample_nearest3d_backward(Tensor grad_output, SymInt[3] output_size, SymInt[5] input_size, "
     "float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor",
     Backward<Kernel::kNearest, 3>, kScales3},
    {"_upsample_nearest_exact1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor",
     Forward<Kernel::kNearestExact, 1>, kScale},
    {"_upsample_nearest_exact1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] "
     "input_size, float? scales=None) -> Tensor",
     Backward<Kernel::kNearestExact, 1>, kScale},
    {"_upsample_nearest_exact2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? "
     "scales_w=None) -> Tensor",
     Forward<Kernel::kNearestExact, 2>, kScales2},
    {"_upsample_nearest_exact2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] "
     "input_size, float? scales_h=None, float? scales_w=None) -> Tensor",
     Backward<Kernel::kNearestExact, 2>, kScales2},
    {"_upsample_nearest_exact3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? "
     "scales_h=None, float? scales_w=None) -> Tensor",
     Forward<Kernel::kNearestExact, 3>, kScales3},
    {"_upsample_nearest_exact3d_backward(Tensor grad_output, SymInt[3] output_size, SymInt[5] "
     "input_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor",
     Backward<Kernel::kNearestExact, 3>, kScales3},
    {"upsample_linear1d(Tensor self, SymInt[1] output_size, bool align_corners, float? "
     "scales=None) -> Tensor",
     Forward<Kernel::kLinear, 1>, kScale},
    {"upsample_linear1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] input_size, "
     "bool align_corners, float? scales=None) -> Tensor",
     Backward<Kernel::kLinear, 1>, kScale},
    {"upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, float? "
     "scales_h=None, float? scales_w=None) -> Tensor",
     Forward<Kernel::kLinear, 2>, kScales2},
    {"upsample_bilinear2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] "
     "input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
     Backward<Kernel::kLinear, 2>, kScales2},
    {"upsample_trilinear3d(Tensor self, SymInt[3] output_size, bool align_corners, float? "
     "scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor",
     Forward<Kernel::kLinear, 3>, kScales3},
    {"upsample_trilinear3d_backward(Tensor grad_output, SymInt[3] output_size, SymInt[5] "
     "input_size, bool align_corners, float? scales_d=None, float? scales_h=None, float? "
     "scales_w=None) -> Tensor",
     Backward<Kernel::kLinear, 3>, kScales3},
    {"upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners, float? "
     "scales_h=None, float? scales_w=None) -> Tensor",
     Forward<Kernel::kCubic, 2>, kScales2},
    {"upsample_bicubic2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, "
     "bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
     Backward<Kernel::kCubic, 2>, kScales2},
    {"grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool "
     "align_corners) -> Tensor",
     GridSample},
    {"grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool "
     "align_corners) -> Tensor",
     GridSample},
    {"grid_sampler_2d_backward(Tensor grad_output, Tensor input, Tensor grid, int "
     "interpolation_mode, int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, "
     "Tensor)",
     GridSampleBackward},
    {"grid_sampler_3d_backward(Tensor grad_output, Tensor input, Tensor grid, int "
     "interpolation_mode, int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, "
     "Tensor)",
     GridSampleBackward},
};

}  // namespace

std::span<const Row> ResamplingRows() { return kRows; }

}  // namespace tpjrt::lower
