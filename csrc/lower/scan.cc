// Cumulative sums, products, extrema and log-sum-exps along one dim.
#include "base/error.h"
#include "hlo/elementwise.h"
#include "hlo/shape.h"
#include "lower/families.h"
#include "lower/inclusive_scan.h"
#include "lower/reducing.h"

namespace tpjrt::lower {
namespace {

Value ScanOne(Value x, Value identity, int64_t dim, Value (*combine)(Value, Value)) {
  const auto both = [combine](const std::vector<Value>& left, const std::vector<Value>& right) {
    return std::vector<Value>{combine(left[0], right[0])};
  };
  return InclusiveScan({x}, {identity}, dim, both)[0];
}

Value Add(Value a, Value b) { return a + b; }
Value Multiply(Value a, Value b) { return a * b; }

// log(exp(a) + exp(b)) without overflow; equal infinities stay what they are.
Value LogAddExp(Value a, Value b) {
  Value low = hlo::Min(a, b);
  Value high = hlo::Max(a, b);
  Value sum = high + hlo::Log1p(hlo::Exp(low - high));
  return hlo::Select(hlo::Or(hlo::Ne(low, high), hlo::IsFinite(low)), sum, a);
}

// self as PyTorch casts it, in the type the scan accumulates in.
Value Accumulable(Context& c) {
  const DType dtype = c.Result().dtype;
  return hlo::Convert(c.TensorAs("self", dtype), ComputeType(dtype));
}

template <bool kProduct>
Outcome Cumulate(Context& c) {
  Value x = Accumulable(c);
  Value identity = hlo::Constant(c.builder(), x.dtype(), kProduct ? 1 : 0);
  const int64_t dim = Context::WrapDim(c.Int("dim"), x.rank());
  return Finished(c, ScanOne(x, identity, dim, kProduct ? Multiply : Add));
}

Outcome LogCumSumExp(Context& c) {
  const Type type = c.TensorType("self");
  if (!IsFloat(type.dtype)) return Unsupported{StrCat("logcumsumexp of ", Name(type.dtype))};
  Value x = c.TensorAs("self", ComputeType(type.dtype));
  const int64_t dim = Context::WrapDim(c.Int("dim"), x.rank());
  return FinishedAs(ScanOne(x, hlo::LowestValue(c.builder(), x.dtype()), dim, LogAddExp), type);
}

// The later of two (value, index) pairs wins a tie, and NaN wins over numbers.
template <bool kMax>
std::vector<Value> LaterExtremum(const std::vector<Value>& left, const std::vector<Value>& right) {
  Value better = kMax ? hlo::Ge(right[0], left[0]) : hlo::Le(right[0], left[0]);
  Value wins = hlo::Or(better, hlo::IsNan(right[0]));
  return {hlo::Select(wins, right[0], left[0]), hlo::Select(wins, right[1], left[1])};
}

template <bool kMax>
Outcome CumulativeExtremum(Context& c) {
  Value x = c.Tensor("self");
  hlo::Builder& b = c.builder();
  if (x.rank() == 0) return {x, hlo::ConstantInt(b, DType::kI64, 0)};
  const int64_t dim = Context::WrapDim(c.Int("dim"), x.rank());
  Value positions = Positions(x, dim);
  Value identity = kMax ? hlo::LowestValue(b, x.dtype()) : hlo::HighestValue(b, x.dtype());
  const std::vector<Value> scanned =
      InclusiveScan({x, positions}, {identity, hlo::ConstantInt(b, positions.dtype(), 0)}, dim,
                    LaterExtremum<kMax>);
  return {scanned[0], hlo::Convert(scanned[1], DType::kI64)};
}

const Row kRows[] = {
    {"cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", Cumulate<false>},
    {"cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", Cumulate<true>},
    {"logcumsumexp(Tensor self, int dim) -> Tensor", LogCumSumExp},
    {"_logcumsumexp(Tensor self, int dim) -> Tensor", LogCumSumExp},
    {"cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)", CumulativeExtremum<true>},
    {"cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)", CumulativeExtremum<false>},
    {"_cummax_helper(Tensor self, Tensor(a!) values, Tensor(b!) indices, int dim) -> ()",
     CumulativeExtremum<true>},
    {"_cummin_helper(Tensor self, Tensor(a!) values, Tensor(b!) indices, int dim) -> ()",
     CumulativeExtremum<false>},
};

}  // namespace

std::span<const Row> ScanRows() { return kRows; }

}  // namespace tpjrt::lower
