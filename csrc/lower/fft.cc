#include "lower/fft.h"

#include <cmath>

#include "hlo/elementwise.h"
#include "hlo/linalg.h"
#include "hlo/shape.h"

namespace tpjrt::lower {
namespace {

using hlo::FftKind;

// `length`: of the real side; for complex transforms the dim's size.
Value Transform(Value x, int64_t dim, FftKind kind, int64_t length) {
  const int64_t last = x.rank() - 1;
  x = hlo::Fft(hlo::SwapDims(x, dim, last), kind, {length});
  return hlo::SwapDims(x, dim, last);
}

// Undoes the compiler's 1/n of backward transforms and applies PyTorch's choice: 0 none, 1 by root
// n, 2 by n.
Value Normalized(Value x, int64_t normalization, double n, bool already_by_n) {
  double factor = already_by_n ? n : 1.0;
  if (normalization == 1) factor /= std::sqrt(n);
  if (normalization == 2) factor /= n;
  if (factor == 1.0) return x;
  if (!IsComplex(x.dtype())) return x * factor;
  return x * hlo::ConstantComplex(x.builder(), x.dtype(), factor, x.dims());
}

Dims WrappedDims(Context& c, int64_t rank) {
  Dims dims = c.Ints("dim");
  for (int64_t& dim : dims) dim = Context::WrapDim(dim, rank);
  return dims;
}

double Length(const Dims& sizes, const Dims& dims) {
  double n = 1;
  for (int64_t dim : dims) n *= static_cast<double>(sizes[static_cast<size_t>(dim)]);
  return n;
}

bool Transformable(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64 || IsComplex(dtype);
}

const Unsupported kHalf{"a Fourier transform of half types"};

}  // namespace

Outcome FftRealToComplex(Context& c) {
  Value x = c.Tensor("self");
  if (!Transformable(x.dtype())) return kHalf;
  const Dims dims = WrappedDims(c, x.rank());
  const double n = Length(x.dims(), dims);
  Dims rest = dims;
  if (c.Bool("onesided")) {
    x = Transform(x, dims.back(), FftKind::kRfft, x.dim(dims.back()));
    rest.pop_back();
  } else {
    x = hlo::Convert(x, ComplexOf(x.dtype()));
  }
  for (int64_t dim : rest) x = Transform(x, dim, FftKind::kFft, x.dim(dim));
  return Normalized(x, c.Int("normalization"), n, false);
}

Outcome FftComplexToComplex(Context& c) {
  Value x = c.Tensor("self");
  if (!Transformable(x.dtype())) return kHalf;
  const Dims dims = WrappedDims(c, x.rank());
  const bool forward = c.Bool("forward");
  for (int64_t dim : dims) {
    x = Transform(x, dim, forward ? FftKind::kFft : FftKind::kIfft, x.dim(dim));
  }
  return Normalized(x, c.Int("normalization"), Length(x.dims(), dims), !forward);
}

Outcome FftComplexToReal(Context& c) {
  Value x = c.Tensor("self");
  if (!Transformable(x.dtype())) return kHalf;
  const Dims dims = WrappedDims(c, x.rank());
  for (size_t i = 0; i + 1 < dims.size(); ++i) {
    x = Transform(x, dims[i], FftKind::kIfft, x.dim(dims[i]));
  }
  x = Transform(x, dims.back(), FftKind::kIrfft, c.Int("last_dim_size"));
  return Normalized(x, c.Int("normalization"), Length(x.dims(), dims), true);
}

}  // namespace tpjrt::lower
