// Orthogonal polynomials of a degree that is itself a tensor (truncated to a whole number), by
// their three-term recurrences: one loop runs to the largest degree. Degrees below 0 give 0.
#pragma once

#include "hlo/elementwise.h"

namespace tpjrt::lower {

using hlo::Value;

Value ChebyshevT(Value x, Value n);
Value ChebyshevU(Value x, Value n);
Value ChebyshevV(Value x, Value n);
Value ChebyshevW(Value x, Value n);
Value ShiftedChebyshevT(Value x, Value n);  // at 2 x - 1
Value ShiftedChebyshevU(Value x, Value n);
Value ShiftedChebyshevV(Value x, Value n);
Value ShiftedChebyshevW(Value x, Value n);
Value HermiteH(Value x, Value n);
Value HermiteHe(Value x, Value n);
Value Laguerre(Value x, Value n);
Value Legendre(Value x, Value n);

}  // namespace tpjrt::lower
