#include "lower/draws.h"

#include <cmath>
#include <numbers>

#include "hlo/elementwise.h"
#include "hlo/shape.h"
#include "lower/philox.h"

namespace tpjrt::lower {

DType DrawType(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

Value DrawUnits(Context& c, DType dtype, const Dims& dims, int64_t bits) {
  Value words = RandomWords(c, hlo::NumElements(dims) * WordsPerUnit(dtype));
  return hlo::Reshape(UnitFromWords(words, dtype, bits), dims);
}

Value DrawOpenUnits(Context& c, DType dtype, const Dims& dims) {
  Value words = RandomWords(c, hlo::NumElements(dims) * WordsPerUnit(dtype));
  return hlo::Reshape(OpenUnitFromWords(words, dtype), dims);
}

// Box and Muller's transform.
Value DrawNormals(Context& c, DType dtype, const Dims& dims) {
  const int64_t n = hlo::NumElements(dims), width = WordsPerUnit(dtype);
  Value pairs = hlo::Reshape(RandomWords(c, 2 * n * width), {n, 2 * width});
  Value radius = OpenUnitFromWords(hlo::Flatten(hlo::SliceDim(pairs, 1, 0, width)), dtype);
  Value angle = UnitFromWords(hlo::Flatten(hlo::SliceDim(pairs, 1, width, 2 * width)), dtype);
  Value z = hlo::Sqrt(hlo::Log(radius) * -2.0) * hlo::Cos(angle * (2.0 * std::numbers::pi));
  return hlo::Reshape(z, dims);
}

Value DrawBits64(Context& c, const Dims& dims) {
  return hlo::Reshape(PairWords(RandomWords(c, 2 * hlo::NumElements(dims))), dims);
}

Value Exponentials(Value open_units) {
  const double least = std::ldexp(1.0, -static_cast<int>(SignificandBits(open_units.dtype())) - 1);
  return hlo::Max(-hlo::Log(open_units), hlo::ConstantLike(open_units, least));
}

}  // namespace tpjrt::lower
