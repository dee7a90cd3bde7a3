// A sparse linear map along one dim, known when the program is lowered:
//   out[o] = sum over terms of row o: weight * x[source].
// Interpolation, adaptive averages and mirrored pads are such maps, and their gradients the
// transposed maps, so all are gathers: deterministic, and an inf or NaN reaches only the elements
// it should.
#pragma once

#include <vector>

#include "hlo/builder.h"

namespace tpjrt::lower {

struct LinearMap {
  struct Term {
    int64_t source;
    double weight;
  };
  int64_t inputs = 0;
  std::vector<std::vector<Term>> rows;

  int64_t outputs() const { return static_cast<int64_t>(rows.size()); }
};

LinearMap Transposed(const LinearMap& map);

// Weights other than 1 need a float x.
hlo::Value Apply(const LinearMap& map, hlo::Value x, int64_t dim);

// A constant of given elements; f32 or f64.
hlo::Value ConstantFloats(hlo::Builder& b, DType dtype, const std::vector<double>& values,
                          const hlo::Dims& dims);

}  // namespace tpjrt::lower
