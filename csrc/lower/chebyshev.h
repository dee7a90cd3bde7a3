// Chebyshev series: sum of c[k] T_k(t) for t in [-1, 1], by Clenshaw's recurrence.
#pragma once

#include <span>

#include "hlo/elementwise.h"

namespace tpjrt::lower {

// Terms too small for t's type to see are left out.
hlo::Value ChebyshevSeries(hlo::Value t, std::span<const double> coefficients);

}  // namespace tpjrt::lower
