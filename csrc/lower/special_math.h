// Formulas for real float32 and float64 where the compiler's own function is missing, too coarse,
// or overflows too early. Each takes and gives a value of one floating type.
#pragma once

#include "hlo/elementwise.h"

namespace tpjrt::lower {

using hlo::Value;

// x * 2^n for a whole number n in x's type, without overflow on the way.
Value ScaleByPowerOfTwo(Value x, Value n);
Value Exp2(Value x);
// exp(x * x) and exp(-x * x), with the rounding error of x * x taken into account.
Value ExpSquare(Value x);
Value ExpMinusSquare(Value x);
Value Sinh(Value x);
Value Cosh(Value x);
Value Sigmoid(Value x);  // complex too
Value Sinc(Value x);     // sin(pi x) / (pi x); complex too
Value ErfInv(Value x);
Value Erfcx(Value x);    // exp(x^2) erfc(x); in bessel.cc, with the other series
Value LogNdtr(Value x);  // log of the normal distribution's cdf
Value Ndtri(Value p);    // its quantile
Value Digamma(Value x);
Value Trigamma(Value x);
Value Entr(Value x);     // -x log x
Value SignBit(Value x);  // any real type -> bool
Value CopySign(Value magnitude, Value sign);
Value Hypot(Value a, Value b);
// log(exp(a) + exp(b)) to base e or 2.
Value LogAddExp(Value a, Value b);
Value LogAddExp2(Value a, Value b);
Value Softplus(Value x);  // log(1 + exp(x))

}  // namespace tpjrt::lower
