// Reductions to one value per group: sums, products, extrema, truth, means, variances, norms.
// float16 and bfloat16 accumulate in float32, integers in int64.
#include <cmath>

#include "base/error.h"
#include "hlo/elementwise.h"
#include "hlo/shape.h"
#include "lower/families.h"
#include "lower/reducing.h"

namespace tpjrt::lower {
namespace {

// Which dims an overload reduces.
using DimsOf = Dims (*)(Context&, int64_t rank);
Dims Every(Context&, int64_t rank) { return AllDims(rank); }
Dims Listed(Context& c, int64_t rank) { return ListedDims(c, "dim", rank); }
Dims Single(Context& c, int64_t rank) { return OneDim(c, "dim", rank); }
// any.dims and all.dims: the empty list reduces nothing.
Dims ListedExactly(Context& c, int64_t rank) {
  return c.Has("dim") ? WrapDims(c.Ints("dim"), rank) : AllDims(rank);
}

// self as PyTorch casts it (to the result's dtype), in the type it accumulates in.
Value Accumulable(Context& c) {
  const DType dtype = c.Result().dtype;
  return hlo::Convert(c.TensorAs("self", dtype), ComputeType(dtype));
}

template <Monoid kMonoid, DimsOf kDims>
Outcome Accumulate(Context& c) {
  Value x = Accumulable(c);
  return Finished(c, ReduceOver(kMonoid, x, kDims(c, x.rank())));
}

template <DimsOf kDims>
Outcome Mean(Context& c) {
  Value x = Accumulable(c);
  return Finished(c, MeanOver(x, kDims(c, x.rank())));
}

Outcome NanSum(Context& c) {
  Value x = Accumulable(c);
  if (IsFloat(x.dtype())) x = hlo::Select(hlo::IsNan(x), hlo::ZerosLike(x), x);
  return Finished(c, ReduceOver(Monoid::kSum, x, Listed(c, x.rank())));
}

template <Monoid kMonoid, DimsOf kDims>
Outcome Extremum(Context& c) {
  Value x = c.Tensor("self");
  return Shaped(c, ReduceOver(kMonoid, x, kDims(c, x.rank())));
}

template <Monoid kMonoid>
Outcome WholeExtremum(Context& c) {
  Require(
      hlo::NumElements(c.TensorType("self").dims) > 0, kMonoid == Monoid::kMax ? "max" : "min",
      "(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction ",
      "dim with the 'dim' argument.");
  return Extremum<kMonoid, Every>(c);
}

Outcome AMinMax(Context& c) {
  Value x = c.Tensor("self");
  const Dims dims = Single(c, x.rank());
  return {Shaped(c, ReduceOver(Monoid::kMin, x, dims), 0),
          Shaped(c, ReduceOver(Monoid::kMax, x, dims), 1)};
}

template <Monoid kMonoid, DimsOf kDims>
Outcome Truth(Context& c) {
  Value x = hlo::Convert(c.Tensor("self"), DType::kBool);
  return Finished(c, ReduceOver(kMonoid, x, kDims(c, x.rank())));
}

Outcome CountNonzero(Context& c, const Dims& dims) {
  Value truth = hlo::Convert(c.Tensor("self"), DType::kBool);
  return Finished(c, ReduceOver(Monoid::kSum, hlo::Convert(truth, DType::kI64), dims));
}
template <DimsOf kDims>
Outcome CountNonzeroOver(Context& c) {
  return CountNonzero(c, kDims(c, c.TensorType("self").rank()));
}

struct Moments {
  Value variance, mean;
};

Moments MomentsOf(Context& c) {
  const DType dtype = c.TensorType("self").dtype;
  Require(IsFloat(dtype) || IsComplex(dtype),
          "std and var only support floating point and complex dtypes, got ", Name(dtype));
  Value x = c.TensorAs("self", ComputeType(dtype));
  const Dims dims = Listed(c, x.rank());
  const double correction = c.Has("correction") ? c.StaticDouble("correction") : 1.0;
  const double freedom = static_cast<double>(Count(x.dims(), dims)) - correction;
  Value mean = MeanOver(x, dims);
  return {SquaredDeviations(x, mean, dims) / std::fmax(freedom, 0.0), mean};
}

template <bool kRoot>
Value Deviation(const Moments& moments) {
  return kRoot ? hlo::Sqrt(moments.variance) : moments.variance;
}
template <bool kRoot>
Outcome Variance(Context& c) {
  return Finished(c, Deviation<kRoot>(MomentsOf(c)));
}
template <bool kRoot>
Outcome VarianceMean(Context& c) {
  const Moments moments = MomentsOf(c);
  return {Finished(c, Deviation<kRoot>(moments), 0), Finished(c, moments.mean, 1)};
}

// (sum |x|^p)^(1/p) and its limits at 0, inf and -inf.
Value PNorm(Value x, double p, const Dims& dims) {
  if (p == 0) {
    return ReduceOver(Monoid::kSum, hlo::Convert(hlo::Convert(x, DType::kBool), RealOf(x.dtype())),
                      dims);
  }
  if (p == 2) return hlo::Sqrt(ReduceOver(Monoid::kSum, AbsSquared(x), dims));
  Value magnitude = hlo::Abs(x);
  if (std::isinf(p)) return ReduceOver(p > 0 ? Monoid::kMax : Monoid::kMin, magnitude, dims);
  if (p == 1) return ReduceOver(Monoid::kSum, magnitude, dims);
  Value powers = hlo::Pow(magnitude, hlo::ConstantLike(magnitude, p));
  Value sum = ReduceOver(Monoid::kSum, powers, dims);
  return hlo::Pow(sum, hlo::ConstantLike(sum, 1.0 / p));
}

Outcome Norm(Context& c, std::string_view order, const Dims& dims, bool casts) {
  const bool cast = casts && c.Has("dtype");
  const DType dtype = cast ? c.Dtype("dtype") : c.TensorType("self").dtype;
  Value x = hlo::Convert(c.TensorAs("self", dtype), ComputeType(dtype));
  const double p = c.Has(order) ? c.StaticDouble(order) : 2.0;
  return Finished(c, PNorm(x, p, dims));
}
Outcome VectorNorm(Context& c) {
  return Norm(c, "ord", Listed(c, c.TensorType("self").rank()), true);
}
template <DimsOf kDims, bool kCasts>
Outcome LegacyNorm(Context& c) {
  return Norm(c, "p", kDims(c, c.TensorType("self").rank()), kCasts);
}

Outcome LogSumExp(Context& c) {
  Value x = Accumulable(c);
  const Dims dims = Listed(c, x.rank());
  Value top = ReduceOver(Monoid::kMax, hlo::Real(x), dims);
  top = hlo::Select(hlo::IsInf(top), hlo::ZerosLike(top), top);
  Value shift = hlo::Convert(top, x.dtype());
  Value sum = ReduceOver(Monoid::kSum, hlo::Exp(x - Spread(shift, x.dims(), dims)), dims);
  return Finished(c, hlo::Log(sum) + shift);
}

constexpr Traits kStaticCorrection{.static_scalars = "correction"};
constexpr Traits kStaticOrd{.static_scalars = "ord"};
constexpr Traits kStaticP{.static_scalars = "p"};

const Row kRows[] = {
    {"sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", Accumulate<Monoid::kSum, Every>},
    {"sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> "
     "Tensor",
     Accumulate<Monoid::kSum, Listed>},
    {"prod(Tensor self, *, ScalarType? dtype=None) -> Tensor", Accumulate<Monoid::kProd, Every>},
    {"prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
     Accumulate<Monoid::kProd, Single>},
    {"nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> "
     "Tensor",
     NanSum},
    {"mean(Tensor self, *, ScalarType? dtype=None) -> Tensor", Mean<Every>},
    {"mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
     Mean<Listed>},
    {"amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
     Extremum<Monoid::kMax, Listed>},
    {"amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
     Extremum<Monoid::kMin, Listed>},
    {"max(Tensor self) -> Tensor", WholeExtremum<Monoid::kMax>},
    {"min(Tensor self) -> Tensor", WholeExtremum<Monoid::kMin>},
    {"aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
     AMinMax},
    {"any(Tensor self) -> Tensor", Truth<Monoid::kOr, Every>},
    {"any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", Truth<Monoid::kOr, Single>},
    {"any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
     Truth<Monoid::kOr, ListedExactly>},
    {"all(Tensor self) -> Tensor", Truth<Monoid::kAnd, Every>},
    {"all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", Truth<Monoid::kAnd, Single>},
    {"all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
     Truth<Monoid::kAnd, ListedExactly>},
    {"_is_all_true(Tensor self) -> Tensor", Truth<Monoid::kAnd, Every>},
    {"_is_any_true(Tensor self) -> Tensor", Truth<Monoid::kOr, Every>},
    {"count_nonzero(Tensor self, int? dim=None) -> Tensor", CountNonzeroOver<Single>},
    {"count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor", CountNonzeroOver<Listed>},
    {"var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
     "keepdim=False) "
     "-> Tensor",
     Variance<false>, kStaticCorrection},
    {"std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
     "keepdim=False) "
     "-> Tensor",
     Variance<true>, kStaticCorrection},
    {"var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
     "keepdim=False) -> (Tensor, Tensor)",
     VarianceMean<false>, kStaticCorrection},
    {"std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
     "keepdim=False) -> (Tensor, Tensor)",
     VarianceMean<true>, kStaticCorrection},
    {"linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, "
     "ScalarType? dtype=None) -> Tensor",
     VectorNorm, kStaticOrd},
    {"norm.Scalar(Tensor self, Scalar p=2) -> Tensor", LegacyNorm<Every, false>, kStaticP},
    {"norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor",
     LegacyNorm<Every, true>, kStaticP},
    {"norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor",
     LegacyNorm<Listed, false>, kStaticP},
    {"norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType "
     "dtype) "
     "-> Tensor",
     LegacyNorm<Listed, true>, kStaticP},
    {"logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", LogSumExp},
};

}  // namespace

std::span<const Row> ReductionRows() { return kRows; }

}  // namespace tpjrt::lower
