// Functions of two values found by iteration: a loop in the program runs until every element is
// done.
#pragma once

#include "hlo/elementwise.h"

namespace tpjrt::lower {

using hlo::Value;

// Greatest common divisor and least common multiple of integers, non-negative.
Value Gcd(Value a, Value b);
Value Lcm(Value a, Value b);
// The sum of (q + k)^-s over k >= 0, also for negative q.
Value HurwitzZeta(Value s, Value q);
// The regularised incomplete gamma functions P(a, x) and Q(a, x) = 1 - P(a, x).
Value IgammaLower(Value a, Value x);
Value IgammaUpper(Value a, Value x);

}  // namespace tpjrt::lower
