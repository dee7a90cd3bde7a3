#include "lower/standardize.h"

#include "hlo/elementwise.h"
#include "lower/reducing.h"

namespace tpjrt::lower {

Standardized Standardize(Value x, const Dims& dims, Value eps) {
  Standardized s;
  s.mean = MeanOver(x, dims);
  s.variance = SquaredDeviations(x, s.mean, dims) / static_cast<double>(Count(x.dims(), dims));
  s.inverse = hlo::Rsqrt(s.variance + Splat(eps, s.variance.dims()));
  s.normal = StandardizeWith(x, s.mean, s.inverse, dims);
  return s;
}

Value StandardizeWith(Value x, Value mean, Value inverse, const Dims& dims) {
  return (x - Spread(mean, x.dims(), dims)) * Spread(inverse, x.dims(), dims);
}

Value StandardizeBackward(Value grad, Value normal, Value inverse, const Dims& dims) {
  Value mean_grad = Spread(MeanOver(grad, dims), grad.dims(), dims);
  Value mean_product = Spread(MeanOver(grad * normal, dims), grad.dims(), dims);
  return (grad - mean_grad - normal * mean_product) * Spread(inverse, grad.dims(), dims);
}

}  // namespace tpjrt::lower
