// Discrete Fourier transforms over any dims, one dim at a time.
#pragma once

#include "lower/row.h"

namespace tpjrt::lower {

Outcome FftRealToComplex(Context& c);
Outcome FftComplexToComplex(Context& c);
Outcome FftComplexToReal(Context& c);

}  // namespace tpjrt::lower
