// The linear map of an interpolation along one dim. Source positions are computed in the type
// PyTorch computes them in, so that the picked elements agree.
#pragma once

#include <optional>

#include "lower/linear_map.h"

namespace tpjrt::lower {

enum class Kernel {
  kNearest,
  kNearestExact,
  kLinear,
  kCubic,
  kLinearAntialias,  // the kernel is widened to cover every input when shrinking
  kCubicAntialias,
};

struct Axis {
  int64_t inputs, outputs;
  bool align_corners;
  std::optional<double> scale;  // outputs per input, where the caller gave one
};

// dtype: of the tensor that will be mapped; positions are float64 only for that.
LinearMap InterpolationMap(Kernel kernel, const Axis& axis, DType dtype);

}  // namespace tpjrt::lower
