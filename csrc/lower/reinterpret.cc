// Dtype views: the same bytes as elements of another type.
#include "base/error.h"
#include "hlo/elementwise.h"
#include "hlo/shape.h"
#include "lower/view.h"

namespace tpjrt::lower {
namespace {

using hlo::Dims;
using hlo::Value;

// The compilers refuse bitcasts of bool and complex: take these to plain numbers first.
Value ToPlain(Value x) {
  if (x.dtype() == DType::kBool) return hlo::Convert(x, DType::kU8);
  if (!IsComplex(x.dtype())) return x;
  const Value parts[] = {hlo::Real(x), hlo::Imag(x)};
  return hlo::Flatten(hlo::Stack(parts, x.rank()));
}

DType PlainOf(DType dtype) {
  if (dtype == DType::kBool) return DType::kU8;
  return RealOf(dtype);
}

Value FromPlain(Value x, DType dtype) {
  if (dtype == DType::kBool) return hlo::Ne(x, 0.0);
  if (!IsComplex(dtype)) return x;
  const Value pairs = hlo::Reshape(hlo::Flatten(x), {x.num_elements() / 2, 2});
  const Value real = hlo::Squeeze(hlo::SliceDim(pairs, 1, 0, 1), 1);
  return hlo::Complex(real, hlo::Squeeze(hlo::SliceDim(pairs, 1, 1, 2), 1));
}

Value BitcastPlain(Value x, DType dtype) {
  const auto from = static_cast<int64_t>(ItemSize(x.dtype()));
  const auto to = static_cast<int64_t>(ItemSize(dtype));
  if (x.dtype() == dtype) return x;
  if (from == to) return hlo::BitcastConvert(x, dtype);
  const Value flat = hlo::Flatten(x);
  const int64_t n = flat.num_elements();
  if (from > to) {
    return hlo::Flatten(hlo::BitcastConvert(flat, hlo::Type{dtype, {n, from / to}}));
  }
  const int64_t ratio = to / from;
  const int64_t count = n / ratio;  // a tail that is no whole element cannot be seen
  const Value groups = hlo::Reshape(hlo::SliceDim(flat, 0, 0, count * ratio), {count, ratio});
  return hlo::BitcastConvert(groups, hlo::Type{dtype, {count}});
}

}  // namespace

Dims ReinterpretedDims(const Dims& buffer_dims, DType from, DType to) {
  if (ItemSize(from) == ItemSize(to) && IsComplex(from) == IsComplex(to)) return buffer_dims;
  const int64_t bytes = hlo::NumElements(buffer_dims) * static_cast<int64_t>(ItemSize(from));
  return {bytes / static_cast<int64_t>(ItemSize(to))};
}

Value Reinterpret(Value buffer, DType dtype) {
  if (buffer.dtype() == dtype) return buffer;
  const Dims dims = ReinterpretedDims(buffer.dims(), buffer.dtype(), dtype);
  const Value bits = BitcastPlain(ToPlain(buffer), PlainOf(dtype));
  return hlo::Reshape(FromPlain(bits, dtype), dims);
}

}  // namespace tpjrt::lower
