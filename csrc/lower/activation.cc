// Activations of neural networks and their derivatives. float16 and bfloat16 compute in float32.
#include <numbers>

#include "lower/families.h"
#include "lower/gated.h"
#include "lower/philox.h"
#include "lower/pointwise.h"
#include "lower/special_math.h"

namespace tpjrt::lower {
namespace {

// An argument in the type the op computes in, and the way back.
DType Compute(Context& c) { return ComputeType(c.Result().dtype); }
Value In(Context& c, std::string_view name) { return Wide(c, name, Compute(c)); }
Value Number(Context& c, std::string_view name) { return WideScalar(c, name, Compute(c)); }
Outcome Out(Context& c, Value x) { return hlo::Convert(x, c.Result().dtype); }

template <UnaryFn F>
Outcome Activation(Context& c) {
  return Out(c, F(In(c, "self")));
}

// grad * F'(x): F takes (grad, x).
template <BinaryFn F>
Outcome Derivative(Context& c) {
  return Out(c, F(In(c, "grad_output"), In(c, "self")));
}
// The same from the activation's own result.
template <BinaryFn F>
Outcome DerivativeOfOutput(Context& c) {
  return Out(c, F(In(c, "grad_output"), In(c, "output")));
}

Value Zero(Value like) { return hlo::ZerosLike(like); }

// --- relu and other pieces of lines.
Outcome Relu(Context& c) {
  const Value x = c.Tensor("self");
  return hlo::Max(x, Zero(x));
}

Outcome Hardtanh(Context& c) {
  const DType type = c.Result().dtype;
  const Value x = Wide(c, "self", type);
  return hlo::Min(hlo::Max(x, WideScalar(c, "min_val", type)), WideScalar(c, "max_val", type));
}
Outcome HardtanhBackward(Context& c) {
  const Value x = In(c, "self");
  const Value grad = In(c, "grad_output");
  const Value flat = hlo::Or(hlo::Le(x, Number(c, "min_val")), hlo::Ge(x, Number(c, "max_val")));
  return Out(c, hlo::Select(flat, Zero(grad), grad));
}

Value Ramp(Value x) { return hlo::Min(hlo::Max(x + 3.0, Zero(x)), hlo::ConstantLike(x, 6.0)); }
Value Hardsigmoid(Value x) { return Ramp(x) / 6.0; }
Value HardsigmoidGrad(Value grad, Value x) {
  const Value inside = hlo::And(hlo::Gt(x, -3.0), hlo::Lt(x, 3.0));
  return hlo::Select(inside, grad * (1.0 / 6.0), Zero(grad));
}
Value Hardswish(Value x) { return x * Ramp(x) / 6.0; }
Value HardswishGrad(Value grad, Value x) {
  const Value middle = hlo::Select(hlo::Lt(x, 3.0), grad * (x / 3.0 + 0.5), grad);
  return hlo::Select(hlo::Le(x, -3.0), Zero(grad), middle);
}

Outcome LeakyRelu(Context& c) {
  const Value x = In(c, "self");
  return Out(c, hlo::Select(hlo::Gt(x, 0.0), x, x * Number(c, "negative_slope")));
}
Outcome LeakyReluBackward(Context& c) {
  const Value grad = In(c, "grad_output");
  const Value flat = grad * Number(c, "negative_slope");
  return Out(c, hlo::Select(hlo::Gt(In(c, "self"), 0.0), grad, flat));
}

// Where training draws a slope for each negative element and keeps it in `noise`.
Outcome RandomizedRelu(Context& c) {
  const Value x = In(c, "self");
  const Value lower = Number(c, "lower");
  const Value upper = Number(c, "upper");
  if (!c.Bool("training")) {
    const Value y = hlo::Select(hlo::Gt(x, 0.0), x, x * ((lower + upper) / 2.0));
    return {hlo::Convert(y, c.Result().dtype), c.Tensor("noise")};
  }
  const Value words = RandomWords(c, x.num_elements() * WordsPerUnit(x.dtype()));
  const Value unit = hlo::Reshape(UnitFromWords(words, x.dtype()), x.dims());
  const Value slope =
      hlo::Select(hlo::Le(x, 0.0), lower + unit * (upper - lower), hlo::ConstantLike(x, 1.0));
  return {hlo::Convert(x * slope, c.Result().dtype),
          hlo::Convert(slope, c.TensorType("noise").dtype)};
}

Outcome Threshold(Context& c) {
  const DType type = c.Result().dtype;
  const Value x = Wide(c, "self", type);
  return hlo::Select(hlo::Le(x, WideScalar(c, "threshold", type)), WideScalar(c, "value", type), x);
}
Outcome ThresholdBackward(Context& c) {
  const DType type = c.Result().dtype;
  const Value grad = Wide(c, "grad_output", type);
  const Value x = Wide(c, "self", type);
  return hlo::Select(hlo::Le(x, WideScalar(c, "threshold", type)), Zero(grad), grad);
}

Value Within(Value x, Value limit) { return hlo::And(hlo::Ge(x, -limit), hlo::Le(x, limit)); }
Outcome Hardshrink(Context& c) {
  const Value x = In(c, "self");
  return Out(c, hlo::Select(Within(x, Number(c, "lambd")), Zero(x), x));
}
Outcome Softshrink(Context& c) {
  const Value x = In(c, "self");
  const Value limit = Number(c, "lambd");
  const Value low = hlo::Select(hlo::Lt(x, -limit), x + limit, x * 0.0);
  return Out(c, hlo::Select(hlo::Gt(x, limit), x - limit, low));
}
Outcome ShrinkBackward(Context& c, std::string_view grad_name) {
  const Value grad = In(c, grad_name);
  return Out(c, hlo::Select(Within(In(c, "self"), Number(c, "lambd")), Zero(grad), grad));
}
Outcome HardshrinkBackward(Context& c) { return ShrinkBackward(c, "grad_out"); }
Outcome SoftshrinkBackward(Context& c) { return ShrinkBackward(c, "grad_output"); }

Outcome Prelu(Context& c) {
  const Value x = In(c, "self");
  return Out(c, hlo::Select(hlo::Gt(x, 0.0), x, x * In(c, "weight")));
}
Outcome PreluBackward(Context& c) {
  const Value grad = In(c, "grad_output");
  const Value x = In(c, "self");
  const Value positive = hlo::Gt(x, 0.0);
  const Value of_self = hlo::Select(positive, grad, grad * In(c, "weight"));
  const Value of_weight = hlo::Select(positive, Zero(grad), grad * x);
  return {hlo::Convert(of_self, c.Result(0).dtype), hlo::Convert(of_weight, c.Result(1).dtype)};
}

// --- smooth ones.
Outcome Elu(Context& c) {
  const Value x = In(c, "self");
  const Value scale = Number(c, "scale");
  const Value curve = hlo::Expm1(x * Number(c, "input_scale")) * (Number(c, "alpha") * scale);
  return Out(c, hlo::Select(hlo::Le(x, 0.0), curve, x * scale));
}
Outcome EluBackward(Context& c) {
  const Value grad = In(c, "grad_output");
  const Value x = In(c, "self_or_result");
  const Value scale = Number(c, "scale");
  const Value input_scale = Number(c, "input_scale");
  const Value height = Number(c, "alpha") * scale;
  const Value slope = c.Bool("is_result") ? x + height : height * hlo::Exp(x * input_scale);
  return Out(c, hlo::Select(hlo::Le(x, 0.0), grad * input_scale * slope, grad * scale));
}

Outcome SoftplusRow(Context& c) {
  const Value x = In(c, "self");
  const Value beta = Number(c, "beta");
  const Value z = x * beta;
  const Value curve = hlo::Log1p(hlo::Exp(z)) / beta;
  return Out(c, hlo::Select(hlo::Gt(z, Number(c, "threshold")), x, curve));
}
Outcome SoftplusBackward(Context& c) {
  const Value grad = In(c, "grad_output");
  const Value z = In(c, "self") * Number(c, "beta");
  return Out(c, hlo::Select(hlo::Gt(z, Number(c, "threshold")), grad, grad * Sigmoid(z)));
}

constexpr double kGeluBeta = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
constexpr double kGeluCubic = 0.044715;

// The compilers' erf ends a little short of 1, which x makes large: gelu(-1e10) must be 0.
Value SaturatingErf(Value x) {
  const double saturated = x.dtype() == DType::kF64 ? 6.0 : 4.0;
  return hlo::Select(hlo::Gt(hlo::Abs(x), saturated), hlo::Sign(x), hlo::Erf(x));
}

Value GeluErf(Value x) { return x * 0.5 * (SaturatingErf(x * (std::numbers::sqrt2 / 2)) + 1.0); }
Value GeluTanh(Value x) {
  const Value inner = (x + x * x * x * kGeluCubic) * kGeluBeta;
  return x * 0.5 * (hlo::Tanh(inner) + 1.0);
}
Value GeluErfGrad(Value grad, Value x) {
  const Value cdf = (SaturatingErf(x * (std::numbers::sqrt2 / 2)) + 1.0) * 0.5;
  const Value pdf = hlo::Exp(x * x * -0.5) * (kGeluBeta / 2);
  return grad * (cdf + x * pdf);
}
Value GeluTanhGrad(Value grad, Value x) {
  const Value square = x * x;
  const Value t = hlo::Tanh((x + square * x * kGeluCubic) * kGeluBeta);
  const Value inner_slope = (square * (3 * kGeluCubic) + 1.0) * kGeluBeta;
  return grad * ((t + 1.0) * 0.5 + x * 0.5 * (1.0 - t * t) * inner_slope);
}

Outcome Gelu(Context& c) {
  const Value x = In(c, "self");
  return Out(c, c.String("approximate") == "tanh" ? GeluTanh(x) : GeluErf(x));
}
Outcome GeluBackward(Context& c) {
  const Value grad = In(c, "grad_output");
  const Value x = In(c, "self");
  return Out(c, c.String("approximate") == "tanh" ? GeluTanhGrad(grad, x) : GeluErfGrad(grad, x));
}

Value Silu(Value x) { return x / (hlo::Exp(-x) + 1.0); }
Value SiluGrad(Value grad, Value x) {
  const Value s = Sigmoid(x);
  return grad * s * (x * (1.0 - s) + 1.0);
}
Value Mish(Value x) { return x * hlo::Tanh(Softplus(x)); }
Value MishGrad(Value grad, Value x) {
  const Value t = hlo::Tanh(Softplus(x));
  return grad * (t + x * Sigmoid(x) * (1.0 - t * t));
}
Value SigmoidGrad(Value grad, Value y) { return grad * hlo::Conj((1.0 - y) * y); }
Value TanhGrad(Value grad, Value y) { return grad * hlo::Conj(1.0 - y * y); }

// The second result is a workspace that only some of PyTorch's kernels fill.
Outcome LogSigmoid(Context& c) {
  const Value x = In(c, "self");
  const Value z = hlo::Exp(-hlo::Abs(x));
  const Value y = hlo::Min(x, Zero(x)) - hlo::Log1p(z);
  const Type& workspace = c.Result(1);
  const Value second = workspace.dims == x.dims()
                           ? hlo::Convert(z, workspace.dtype)
                           : hlo::Constant(c.builder(), workspace.dtype, 0, workspace.dims);
  return {hlo::Convert(y, c.Result().dtype), second};
}
Value LogSigmoidGrad(Value grad, Value x) { return grad * Sigmoid(-x); }

constexpr Traits kWritesNoise{.also_writes = "noise", .draws_per_element = 2};

constexpr Row kRows[] = {
    {"relu(Tensor self) -> Tensor", Relu},
    {"hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor", Hardtanh},
    {"hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor",
     HardtanhBackward},
    {"hardsigmoid(Tensor self) -> Tensor", Activation<Hardsigmoid>},
    {"hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor",
     Derivative<HardsigmoidGrad>},
    {"hardswish(Tensor self) -> Tensor", Activation<Hardswish>},
    {"hardswish_backward(Tensor grad_output, Tensor self) -> Tensor", Derivative<HardswishGrad>},
    {"leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", LeakyRelu},
    {"leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, "
     "bool self_is_result) -> Tensor",
     LeakyReluBackward},
    {"rrelu_with_noise(Tensor self, Tensor(b!) noise, Scalar lower=0.125, "
     "Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None) -> Tensor",
     RandomizedRelu, kWritesNoise},
    {"rrelu_with_noise_(Tensor(a!) self, Tensor(b!) noise, Scalar lower=0.125, "
     "Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None) -> "
     "Tensor(a!)",
     RandomizedRelu, kWritesNoise},
    {"threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor", Threshold},
    {"threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor",
     ThresholdBackward},
    {"hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor", Hardshrink},
    {"hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor",
     HardshrinkBackward},
    {"softshrink(Tensor self, Scalar lambd=0.5) -> Tensor", Softshrink},
    {"softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor",
     SoftshrinkBackward},
    {"_prelu_kernel(Tensor self, Tensor weight) -> Tensor", Prelu},
    {"_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)",
     PreluBackward},
    {"elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor", Elu},
    {"elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, "
     "bool is_result, Tensor self_or_result) -> Tensor",
     EluBackward},
    {"softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor", SoftplusRow},
    {"softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor",
     SoftplusBackward},
    {"gelu(Tensor self, *, str approximate=\"none\") -> Tensor", Gelu},
    {"gelu_backward(Tensor grad_output, Tensor self, *, str approximate=\"none\") -> Tensor",
     GeluBackward},
    {"silu(Tensor self) -> Tensor", Activation<Silu>},
    {"silu_backward(Tensor grad_output, Tensor self) -> Tensor", Derivative<SiluGrad>},
    {"mish(Tensor self) -> Tensor", Activation<Mish>},
    {"mish_backward(Tensor grad_output, Tensor self) -> Tensor", Derivative<MishGrad>},
    {"sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor",
     DerivativeOfOutput<SigmoidGrad>},
    {"tanh_backward(Tensor grad_output, Tensor output) -> Tensor", DerivativeOfOutput<TanhGrad>},
    {"log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)", LogSigmoid},
    {"log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor",
     Derivative<LogSigmoidGrad>},
    {"glu(Tensor self, int dim=-1) -> Tensor", Glu},
    {"glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor", GluBackward},
};

}  // namespace

std::span<const Row> ActivationRows() { return kRows; }

}  // namespace tpjrt::lower
