// Random tensors. The stream they read is described in philox.h. Distribution parameters are
// run-time inputs. Half types are drawn in float32 and rounded.
#include <numbers>

#include "hlo/elementwise.h"
#include "hlo/shape.h"
#include "lower/draws.h"
#include "lower/families.h"
#include "lower/philox.h"
#include "lower/random_integers.h"
#include "lower/sampling.h"
#include "lower/value_fault.h"

namespace tpjrt::lower {
namespace {

Value Parameter(Context& c, std::string_view name, DType dtype, const Dims& dims) {
  return hlo::BroadcastInDim(c.Scalar(name, dtype), dims, {});
}

Outcome Uniform(Context& c) {
  const Type& out = c.Result();
  const DType draw = DrawType(out.dtype);
  Value from = Parameter(c, "from", draw, out.dims), to = Parameter(c, "to", draw, out.dims);
  Value unit = DrawUnits(c, draw, out.dims, SignificandBits(out.dtype));
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
            DrawNormals(c, draw, out.dims) * Parameter(c, "std", draw, out.dims);
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
  const Value deviation = read("std", std_is_tensor);
  ReportValues(hlo::Lt(deviation, 0.0), ValueFault::kDeviation);
  Value x = read("mean", mean_is_tensor) + DrawNormals(c, draw, out.dims) * deviation;
  return hlo::Convert(x, out.dtype);
}

Outcome LogNormal(Context& c) {
  const Type& out = c.Result();
  const DType draw = DrawType(out.dtype);
  Value x = Parameter(c, "mean", draw, out.dims) +
            DrawNormals(c, draw, out.dims) * Parameter(c, "std", draw, out.dims);
  return hlo::Convert(hlo::Exp(x), out.dtype);
}

Outcome Exponential(Context& c) {
  const Type& out = c.Result();
  const DType draw = DrawType(out.dtype);
  Value x = Exponentials(DrawOpenUnits(c, draw, out.dims)) / Parameter(c, "lambd", draw, out.dims);
  return hlo::Convert(x, out.dtype);
}

Outcome Geometric(Context& c) {
  const Type& out = c.Result();
  const DType draw = DrawType(out.dtype);
  Value failures = hlo::Log1p(-Parameter(c, "p", draw, out.dims));
  Value x = hlo::Ceil(hlo::Log(DrawOpenUnits(c, draw, out.dims)) / failures);
  return hlo::Convert(hlo::Max(x, hlo::ConstantLike(x, 1)), out.dtype);
}

Outcome Cauchy(Context& c) {
  const Type& out = c.Result();
  const DType draw = DrawType(out.dtype);
  Value angle = (DrawOpenUnits(c, draw, out.dims) - 0.5) * std::numbers::pi;
  Value x = Parameter(c, "median", draw, out.dims) +
            hlo::Tan(angle) * Parameter(c, "sigma", draw, out.dims);
  return hlo::Convert(x, out.dtype);
}

Value DrawBernoulli(Context& c, Value probability) {
  return hlo::Lt(DrawUnits(c, probability.dtype(), probability.dims()), probability);
}

void CheckProbability(Value p) {
  const Value good = hlo::And(hlo::Ge(p, 0.0), hlo::Le(p, 1.0));  // false for NaN
  ReportValues(hlo::Not(good), ValueFault::kProbability);
}

Outcome Bernoulli(Context& c) {
  const Type& out = c.Result();
  Value p = c.TensorAs("self", DrawType(out.dtype));
  CheckProbability(p);
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
  CheckProbability(p);
  return hlo::Convert(DrawBernoulli(c, hlo::BroadcastTo(p, out.dims)), out.dtype);
}

Outcome Dropout(Context& c) {
  const Type& out = c.Result();
  const DType compute = DrawType(out.dtype);
  Value x = c.TensorAs("input", compute);
  if (c.Has("train") && !c.Bool("train")) {
    return {hlo::Convert(x, out.dtype), hlo::ConstantInt(c.builder(), DType::kBool, 1, out.dims)};
  }
  Value p = Parameter(c, "p", compute, out.dims);
  Value kept = hlo::Ge(DrawUnits(c, compute, out.dims), p);
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

// Words of the stream per element: float64 takes two per uniform number.
constexpr Traits kOneNumber{.draws_per_element = 2};
constexpr Traits kTwoNumbers{.draws_per_element = 4};
constexpr Traits kBounded{.runtime_numbers = "to", .draws_per_element = 2};
constexpr Traits kRange{.runtime_numbers = "from,to", .draws_per_element = 2};

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
    {"random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor", RandomTo, kBounded},
    {"random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor",
     RandomFrom, kRange},
    {"native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)", Dropout, kOneNumber},
    {"native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor",
     DropoutBackward},
    {"randperm.generator_out(SymInt n, *, Generator? generator, Tensor(a!) out) -> Tensor(a!)",
     RandomPermutation, kOneNumber},
    {"multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? "
     "generator=None) -> Tensor",
     Multinomial, kOneNumber},
};

}  // namespace

std::span<const Row> RandomRows() { return kRows; }

}  // namespace tpjrt::lower
