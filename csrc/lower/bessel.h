// Bessel and Airy functions and erfcx (declared in special_math.h) for real float32 and float64, as
// Chebyshev series on a near and a far interval. The scaled forms carry exp(-|x|) (I) or exp(x)
// (K).
#pragma once

#include "hlo/elementwise.h"

namespace tpjrt::lower {

using hlo::Value;

Value BesselI0(Value x);
Value BesselI0Scaled(Value x);
Value BesselI1(Value x);
Value BesselI1Scaled(Value x);
Value BesselK0(Value x);
Value BesselK0Scaled(Value x);
Value BesselK1(Value x);
Value BesselK1Scaled(Value x);
Value BesselJ0(Value x);
Value BesselJ1(Value x);
Value BesselY0(Value x);
Value BesselY1(Value x);
Value SphericalBesselJ0(Value x);
Value AiryAi(Value x);

}  // namespace tpjrt::lower
