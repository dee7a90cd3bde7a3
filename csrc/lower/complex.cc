// Complex numbers from and to real ones.
#include <numbers>

#include "lower/families.h"
#include "lower/pointwise.h"

namespace tpjrt::lower {
namespace {

Outcome MakeComplex(Context& c) {
  const DType real = RealOf(c.Result().dtype);
  return hlo::Complex(Wide(c, "real", real), Wide(c, "imag", real));
}

Outcome Polar(Context& c) {
  const DType real = RealOf(c.Result().dtype);
  const Value length = Wide(c, "abs", real);
  const Value angle = Wide(c, "angle", real);
  return hlo::Complex(length * hlo::Cos(angle), length * hlo::Sin(angle));
}

// Of a real number: 0 or pi by its sign, NaN for NaN.
Outcome Angle(Context& c) {
  const Type type = c.TensorType("self");
  if (IsComplex(type.dtype)) {
    const Value z = c.Tensor("self");
    return hlo::Atan2(hlo::Imag(z), hlo::Real(z));
  }
  const DType result = FloatTypeFor(c, type.dtype);
  const Value x = c.TensorAs("self", ComputeType(result));
  const Value side =
      hlo::Select(hlo::Lt(x, 0.0), hlo::ConstantLike(x, std::numbers::pi), hlo::ZerosLike(x));
  return hlo::Convert(hlo::Select(hlo::IsNan(x), x, side), result);
}

constexpr Row kRows[] = {
    {"complex(Tensor real, Tensor imag) -> Tensor", MakeComplex},
    {"polar(Tensor abs, Tensor angle) -> Tensor", Polar},
    {"angle(Tensor self) -> Tensor", Angle},
};

}  // namespace

std::span<const Row> ComplexRows() { return kRows; }

}  // namespace tpjrt::lower
