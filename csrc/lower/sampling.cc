#include "lower/sampling.h"

#include "hlo/elementwise.h"
#include "hlo/linalg.h"
#include "hlo/reduce.h"
#include "hlo/shape.h"
#include "lower/draws.h"
#include "lower/philox.h"
#include "lower/prefix_sum.h"
#include "lower/value_fault.h"

namespace tpjrt::lower {
namespace {

// Without replacement: the largest of p / exponential, one race per sample set.
Value SampleOnce(Context& c, Value p, int64_t samples) {
  const int64_t words = p.num_elements() * WordsPerUnit(p.dtype());
  Value units = OpenUnitFromWords(PrivateRandomWords(c, words), p.dtype());
  Value race = p / Exponentials(hlo::Reshape(units, p.dims()));
  return hlo::TopK(race, samples)[1];
}

// With replacement: where uniform numbers fall in the running sum; categories of probability 0
// after the last possible one are not reached by rounding.
Value SampleOften(Context& c, Value p, int64_t samples) {
  hlo::Builder& b = c.builder();
  const int64_t rows = p.dim(0), n = p.dim(1);
  Value running = PrefixSum(p);
  Value total = hlo::SliceDim(running, 1, n - 1, n);
  Value units =
      UnitFromWords(PrivateRandomWords(c, rows * samples * WordsPerUnit(p.dtype())), p.dtype());
  Value at = hlo::Reshape(units, {rows, samples}) * hlo::BroadcastTo(total, {rows, samples});
  const Dims all = {rows, samples, n};
  Value below =
      hlo::Le(hlo::BroadcastInDim(running, all, {0, 2}), hlo::BroadcastInDim(at, all, {0, 1}));
  Value index = hlo::ReduceSum(hlo::Convert(below, DType::kI32), {2});
  Value category = hlo::Iota(b, DType::kI32, {rows, n}, 1);
  Value possible = hlo::Select(hlo::Gt(p, 0.0), category, hlo::ZerosLike(category));
  return hlo::Min(index, hlo::BroadcastInDim(hlo::ReduceMax(possible, {1}), index.dims(), {0}));
}

}  // namespace

// Positions sorted by 64 random bits.
Outcome RandomPermutation(Context& c) {
  const Type& out = c.Result();
  const int64_t n = hlo::NumElements(out.dims);
  if (n == 0) return hlo::Constant(c.builder(), out.dtype, 0, out.dims);
  Value keys = hlo::Reshape(RandomWords(c, 2 * n), {n, 2});
  const Value operands[] = {hlo::Squeeze(hlo::SliceDim(keys, 1, 0, 1), 1),
                            hlo::Squeeze(hlo::SliceDim(keys, 1, 1, 2), 1),
                            hlo::Iota(c.builder(), DType::kI64, {n}, 0)};
  const auto less = [](hlo::Builder&, std::span<const Value> args) -> std::vector<Value> {
    Value tie = hlo::And(hlo::Eq(args[0], args[1]), hlo::Lt(args[2], args[3]));
    return {hlo::Or(hlo::Lt(args[0], args[1]), tie)};
  };
  return hlo::Convert(hlo::Sort(operands, 0, true, less)[2], out.dtype);
}

Outcome Multinomial(Context& c) {
  const Type& out = c.Result();
  const int64_t samples = c.Int("num_samples");
  Value p = c.TensorAs("self", DrawType(c.TensorType("self").dtype));
  if (p.rank() == 1) p = hlo::Unsqueeze(p, 0);
  if (hlo::NumElements(out.dims) == 0) return hlo::Constant(c.builder(), out.dtype, 0, out.dims);
  const Value usable = hlo::And(hlo::Ge(p, 0.0), hlo::IsFinite(p));
  ReportValues(hlo::Not(usable), ValueFault::kDistribution);
  const Value total = hlo::ReduceSum(p, {1});
  ReportValues(hlo::Le(total, 0.0), ValueFault::kEmptyDistribution);
  Value index = c.Bool("replacement") ? SampleOften(c, p, samples) : SampleOnce(c, p, samples);
  return hlo::Convert(hlo::Reshape(index, out.dims), out.dtype);
}

}  // namespace tpjrt::lower
