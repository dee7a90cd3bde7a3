// Random tensors. The stream they read is described in philox.h. Distribution parameters are
// run-time inputs. Half types are drawn in float32 and rounded.
#include <cmath>
#include <limits>
#include <numbers>

#include "hlo/elementwise.h"
#include "hlo/linalg.h"
#include "hlo/reduce.h"
#include "hlo/shape.h"
#include "lower/families.h"
#include "lower/philox.h"
#include "lower/prefix_sum.h"

namespace tpjrt::lower {
namespace {

// The type numbers of `dtype` are drawn in.
DType DrawType(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

Value Parameter(Context& c, std::string_view name, DType dtype, const Dims& dims) {
  return hlo::BroadcastInDim(c.Scalar(name, dtype), dims, {});
}

// One number in [0, 1) per element of dims.
Value Units(Context& c, DType dtype, const Dims& dims, int64_t bits = 0) {
  Value words = RandomWords(c, hlo::NumElements(dims) * WordsPerUnit(dtype));
  return hlo::Reshape(UnitFromWords(words, dtype, bits), dims);
}

Value OpenUnits(Context& c, DType dtype, const Dims& dims) {
  Value words = RandomWords(c, hlo::NumElements(dims) * WordsPerUnit(dtype));
  return hlo::Reshape(OpenUnitFromWords(words, dtype), dims);
}

// Standard normal numbers by Box and Muller's transform.
Value Normals(Context& c, DType dtype, const Dims& dims) {
  const int64_t n = hlo::NumElements(dims), width = WordsPerUnit(dtype);
  Value pairs = hlo::Reshape(RandomWords(c, 2 * n * width), {n, 2 * width});
  Value radius = OpenUnitFromWords(hlo::Flatten(hlo::SliceDim(pairs, 1, 0, width)), dtype);
  Value angle = UnitFromWords(hlo::Flatten(hlo::SliceDim(pairs, 1, width, 2 * width)), dtype);
  Value z = hlo::Sqrt(hlo::Log(radius) * -2.0) * hlo::Cos(angle * (2.0 * std::numbers::pi));
  return hlo::Reshape(z, dims);
}

// u64 bits per element.
Value Bits64(Context& c, const Dims& dims) {
  return hlo::Reshape(PairWords(RandomWords(c, 2 * hlo::NumElements(dims))), dims);
}

Outcome Uniform(Context& c) {
  const Type& out = c.Result();
  const DType draw = DrawType(out.dtype);
  Value from = Parameter(c, "from", draw, out.dims), to = Parameter(c, "to", draw, out.dims);
  Value unit = Units(c, draw, out.dims, SignificandBits(out.dtype));
  Value x = hlo::Convert(from + unit * (to - from), out.dtype);
  // Rounding may reach the excluded bound.
  from = hlo::Convert(from, out.dtype);
  return hlo::Select(hlo::Ge(x, hlo::Convert(to, out.dtype)), from, x);
}

Outcome Normal(Context& c) {
  const Type& out = c.Result();
  if (IsComplex(out.dtype)) return Unsupported{"complex random numbers"};
  const DType draw = DrawType(out.dtype);
  Value x = Parameter(c, "mean", draw, out.dims) +
            Normals(c, draw, out.dims) * Parameter(c, "std", draw, out.dims);
  return hlo::Convert(x, out.dtype);
}

template <bool mean_is_tensor, bool std_is_tensor>
Outcome NormalOfTensors(Context& c) {
  const Type& out = c.Result();
  if (IsComplex(out.dtype)) return Unsupported{"complex random numbers"};
  const DType draw = DrawType(out.dtype);
  const auto read = [&](std::string_view name, bool is_tensor) {
    return is_tensor ? hlo::BroadcastTo(c.TensorAs(name, draw), out.dims)
                     : Parameter(c, name, draw, out.dims);
  };
  Value x = read("mean", mean_is_tensor) + Normals(c, draw, out.dims) * read("std", std_is_tensor);
  return hlo::Convert(x, out.dtype);
}

Outcome LogNormal(Context& c) {
  const Type& out = c.Result();
  const DType draw = DrawType(out.dtype);
  Value x = Parameter(c, "mean", draw, out.dims) +
            Normals(c, draw, out.dims) * Parameter(c, "std", draw, out.dims);
  return hlo::Convert(hlo::Exp(x), out.dtype);
}

// Exponential numbers of rate 1, never 0.
Value Exponentials(Value open_units) {
  const double least = std::ldexp(1.0, -static_cast<int>(SignificandBits(open_units.dtype())) - 1);
  return hlo::Max(-hlo::Log(open_units), hlo::ConstantLike(open_units, least));
}

Outcome Exponential(Context& c) {
  const Type& out = c.Result();
  const DType draw = DrawType(out.dtype);
  Value x = Exponentials(OpenUnits(c, draw, out.dims)) / Parameter(c, "lambd", draw, out.dims);
  return hlo::Convert(x, out.dtype);
}

Outcome Geometric(Context& c) {
  const Type& out = c.Result();
  const DType draw = DrawType(out.dtype);
  Value failures = hlo::Log1p(-Parameter(c, "p", draw, out.dims));
  Value x = hlo::Ceil(hlo::Log(OpenUnits(c, draw, out.dims)) / failures);
  return hlo::Convert(hlo::Max(x, hlo::ConstantLike(x, 1)), out.dtype);
}

Outcome Cauchy(Context& c) {
  const Type& out = c.Result();
  const DType draw = DrawType(out.dtype);
  Value angle = (OpenUnits(c, draw, out.dims) - 0.5) * std::numbers::pi;
  Value x = Parameter(c, "median", draw, out.dims) +
            hlo::Tan(angle) * Parameter(c, "sigma", draw, out.dims);
  return hlo::Convert(x, out.dtype);
}

Value DrawBernoulli(Context& c, Value probability) {
  return hlo::Lt(Units(c, probability.dtype(), probability.dims()), probability);
}

Outcome Bernoulli(Context& c) {
  const Type& out = c.Result();
  Value p = c.TensorAs("self", DrawType(out.dtype));
  return hlo::Convert(DrawBernoulli(c, p), out.dtype);
}

Outcome BernoulliP(Context& c) {
  const Type& out = c.Result();
  return hlo::Convert(DrawBernoulli(c, Parameter(c, "p", DrawType(out.dtype), out.dims)),
                      out.dtype);
}

Outcome BernoulliTensor(Context& c) {
  const Type& out = c.Result();
  Value p = c.TensorAs("p", DrawType(c.TensorType("p").dtype));
  return hlo::Convert(DrawBernoulli(c, hlo::BroadcastTo(p, out.dims)), out.dtype);
}

// --- Integers in [from, from + range); range 0 stands for 2^64.
Value WideConstant(hlo::Builder& b, uint64_t value, const Dims& dims) {
  Value bits = hlo::ConstantInt(b, DType::kI64, static_cast<int64_t>(value), dims);
  return hlo::BitcastConvert(bits, DType::kU64);
}

Value BelowRange(Value bits, uint64_t range) {
  hlo::Builder& b = bits.builder();
  if (range == 0) return bits;
  Value limit = WideConstant(b, range, bits.dims());
  if (range > (uint64_t{1} << 32)) return hlo::Rem(bits, limit);
  // floor(bits * range / 2^64), by halves of bits: no bias to speak of and no division.
  Value shift = WideConstant(b, 32, bits.dims());
  Value high = hlo::ShiftRightLogical(bits, shift);
  Value low = hlo::And(bits, WideConstant(b, 0xFFFFFFFF, bits.dims()));
  return hlo::ShiftRightLogical(high * limit + hlo::ShiftRightLogical(low * limit, shift), shift);
}

Outcome Integers(Context& c, int64_t from, uint64_t range) {
  const Type& out = c.Result();
  Value x = hlo::BitcastConvert(BelowRange(Bits64(c, out.dims), range), DType::kI64);
  x = x + hlo::ConstantInt(c.builder(), DType::kI64, from, out.dims);
  return hlo::Convert(x, out.dtype);
}

// The largest number random_() gives: the type's, or the last float whose predecessors are all
// exact.
uint64_t LargestRandom(DType dtype) {
  if (IsFloat(dtype)) return uint64_t{1} << SignificandBits(dtype);
  if (dtype == DType::kBool) return 1;
  const uint64_t bits = 8 * ItemSize(dtype) - (IsUnsigned(dtype) ? 0 : 1);
  return bits == 64 ? std::numeric_limits<uint64_t>::max() : (uint64_t{1} << bits) - 1;
}

Outcome Random(Context& c) { return Integers(c, 0, LargestRandom(c.Result().dtype) + 1); }

Outcome RandomTo(Context& c) { return Integers(c, 0, static_cast<uint64_t>(c.Int("to"))); }

Outcome RandomFrom(Context& c) {
  const int64_t from = c.Int("from");
  const uint64_t end =
      c.Has("to") ? static_cast<uint64_t>(c.Int("to")) : LargestRandom(c.Result().dtype) + 1;
  return Integers(c, from, end - static_cast<uint64_t>(from));
}

Outcome Dropout(Context& c) {
  const Type& out = c.Result();
  const DType compute = DrawType(out.dtype);
  Value x = c.TensorAs("input", compute);
  if (c.Has("train") && !c.Bool("train")) {
    return {hlo::Convert(x, out.dtype), hlo::ConstantInt(c.builder(), DType::kBool, 1, out.dims)};
  }
  Value p = Parameter(c, "p", compute, out.dims);
  Value kept = hlo::Ge(Units(c, compute, out.dims), p);
  Value zero = hlo::ZerosLike(p);
  Value scale = hlo::Select(hlo::Eq(p, 1.0), zero, 1.0 / (1.0 - p));
  return {hlo::Convert(x * hlo::Select(kept, scale, zero), out.dtype), kept};
}

Outcome DropoutBackward(Context& c) {
  const Type& out = c.Result();
  const DType compute = ComputeType(out.dtype);
  Value scale = Parameter(c, "scale", compute, out.dims);
  Value x = c.TensorAs("grad_output", compute) * c.TensorAs("mask", compute) * scale;
  return hlo::Convert(x, out.dtype);
}

// Positions sorted by 64 random bits.
Outcome Permutation(Context& c) {
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

Outcome Multinomial(Context& c) {
  const Type& out = c.Result();
  const int64_t samples = c.Int("num_samples");
  Value p = c.TensorAs("self", DrawType(c.TensorType("self").dtype));
  if (p.rank() == 1) p = hlo::Unsqueeze(p, 0);
  if (hlo::NumElements(out.dims) == 0) return hlo::Constant(c.builder(), out.dtype, 0, out.dims);
  Value index = c.Bool("replacement") ? SampleOften(c, p, samples) : SampleOnce(c, p, samples);
  return hlo::Convert(hlo::Reshape(index, out.dims), out.dtype);
}

// Words of the stream per element: float64 takes two per uniform number.
constexpr Traits kOneNumber{.draws_per_element = 2};
constexpr Traits kTwoNumbers{.draws_per_element = 4};

const Row kRows[] = {
    {"uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None) -> Tensor",
     Uniform, kOneNumber},
    {"normal_functional(Tensor self, float mean=0., float std=1., *, Generator? generator=None) -> "
     "Tensor",
     Normal, kTwoNumbers},
    {"normal_(Tensor(a!) self, float mean=0., float std=1., *, Generator? generator=None) -> "
     "Tensor(a!)",
     Normal, kTwoNumbers},
    {"normal.Tensor_float(Tensor mean, float std=1., *, Generator? generator=None) -> Tensor",
     NormalOfTensors<true, false>, kTwoNumbers},
    {"normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor",
     NormalOfTensors<false, true>, kTwoNumbers},
    {"normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor",
     NormalOfTensors<true, true>, kTwoNumbers},
    {"log_normal(Tensor self, float mean=1., float std=2., *, Generator? generator=None) -> Tensor",
     LogNormal, kTwoNumbers},
    {"exponential(Tensor self, float lambd=1., *, Generator? generator=None) -> Tensor",
     Exponential, kOneNumber},
    {"geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor", Geometric,
     kOneNumber},
    {"cauchy(Tensor self, float median=0., float sigma=1., *, Generator? generator=None) -> Tensor",
     Cauchy, kOneNumber},
    {"bernoulli(Tensor self, *, Generator? generator=None) -> Tensor", Bernoulli, kOneNumber},
    {"bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor", BernoulliP,
     kOneNumber},
    {"bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor",
     BernoulliTensor, kOneNumber},
    {"random(Tensor self, *, Generator? generator=None) -> Tensor", Random, kOneNumber},
    {"random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor", RandomTo,
     kOneNumber},
    {"random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor",
     RandomFrom, kOneNumber},
    {"native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)", Dropout, kOneNumber},
    {"native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor",
     DropoutBackward},
    {"randperm.generator_out(SymInt n, *, Generator? generator, Tensor(a!) out) -> Tensor(a!)",
     Permutation, kOneNumber},
    {"multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? "
     "generator=None) -> Tensor",
     Multinomial, kOneNumber},
};

}  // namespace

std::span<const Row> RandomRows() { return kRows; }

}  // namespace tpjrt::lower
