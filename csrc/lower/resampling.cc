// Interpolation: nearest, linear and cubic in 1 to 3 dims and their gradients; grid sampling is in
// grid_sample.cc.
//
// Each is a product of linear maps, one per spatial dim.
#include "hlo/elementwise.h"
#include "lower/families.h"
#include "lower/grid_sample.h"
#include "lower/interpolation.h"

namespace tpjrt::lower {
namespace {

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
    const LinearMap map = InterpolationMap(kernel, axis, x.dtype());
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
    {"_upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? "
     "scales_h=None, float? scales_w=None) -> Tensor",
     Forward<Kernel::kLinearAntialias, 2>, kScales2},
    {"_upsample_bilinear2d_aa_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] "
     "input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
     Backward<Kernel::kLinearAntialias, 2>, kScales2},
    {"_upsample_bicubic2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? "
     "scales_h=None, float? scales_w=None) -> Tensor",
     Forward<Kernel::kCubicAntialias, 2>, kScales2},
    {"_upsample_bicubic2d_aa_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] "
     "input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
     Backward<Kernel::kCubicAntialias, 2>, kScales2},
};

}  // namespace

std::span<const Row> ResamplingRows() { return kRows; }

}  // namespace tpjrt::lower
