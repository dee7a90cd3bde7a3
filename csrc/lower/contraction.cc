#include "lower/contraction.h"

#include "hlo/elementwise.h"

namespace tpjrt::lower {

DType AccumulateType(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kU8:
    case DType::kI8:
    case DType::kI16:
      return DType::kI32;
    default:
      return ComputeType(dtype);
  }
}

hlo::Precision PrecisionFor(DType dtype) {
  return dtype == DType::kBF16 ? hlo::Precision::kDefault : hlo::Precision::kHighest;
}

Value Contract(Value lhs, Value rhs, const hlo::DotDims& dims) {
  const DType dtype = lhs.dtype(), accumulate = AccumulateType(dtype);
  return hlo::DotGeneral(hlo::Convert(lhs, accumulate), hlo::Convert(rhs, accumulate), dims,
                         accumulate, PrecisionFor(dtype));
}

}  // namespace tpjrt::lower
