// Losses: pointwise ones with their reduction, negative log likelihood, margins. Computed in
// float32 for float16 and bfloat16.
#include "base/error.h"
#include "hlo/elementwise.h"
#include "hlo/shape.h"
#include "lower/families.h"
#include "lower/loss_reduction.h"
#include "lower/margin_loss.h"
#include "lower/nll_loss.h"
#include "lower/reducing.h"

namespace tpjrt::lower {
namespace {

// self and target in one compute type and with the same dims.
struct Operands {
  Value x, target;
  const Dims& dims() const { return x.dims(); }
  DType dtype() const { return x.dtype(); }
};

Operands OperandsOf(Context& c) {
  const DType dtype = ComputeType(c.Promoted({"self", "target"}));
  Value x = c.TensorAs("self", dtype);
  Value target = c.TensorAs("target", dtype);
  const Dims dims = hlo::BroadcastDims(x.dims(), target.dims());
  return {hlo::BroadcastTo(x, dims), hlo::BroadcastTo(target, dims)};
}

using PointwiseLoss = Value (*)(Context&, const Operands&);

template <PointwiseLoss kLoss>
Outcome Loss(Context& c) {
  return ReducedLoss(c, kLoss(c, OperandsOf(c)));
}
// kSlope gives d loss / d self.
template <PointwiseLoss kSlope>
Outcome LossBackward(Context& c) {
  const Operands o = OperandsOf(c);
  Value grad = LossGradient(c, o.dtype(), o.dims(), hlo::NumElements(o.dims()));
  return Finished(c, kSlope(c, o) * grad);
}

Value SquaredError(Context&, const Operands& o) {
  Value difference = o.x - o.target;
  return difference * difference;
}
Value SquaredErrorSlope(Context&, const Operands& o) { return (o.x - o.target) * 2.0; }

Value ScalarLike(Context& c, std::string_view name, const Operands& o) {
  return Splat(c.Scalar(name, o.dtype()), o.dims());
}

Value SmoothL1(Context& c, const Operands& o) {
  Value beta = ScalarLike(c, "beta", o);
  Value z = hlo::Abs(o.x - o.target);
  return hlo::Select(hlo::Lt(z, beta), z * z * 0.5 / beta, z - beta * 0.5);
}
Value SmoothL1Slope(Context& c, const Operands& o) {
  Value beta = ScalarLike(c, "beta", o);
  Value d = o.x - o.target;
  Value one = hlo::ConstantLike(d, 1);
  Value right = hlo::Select(hlo::Ge(d, beta), one, d / beta);
  return hlo::Select(hlo::Le(d, -beta), -one, right);
}

Value Huber(Context& c, const Operands& o) {
  Value delta = ScalarLike(c, "delta", o);
  Value z = hlo::Abs(o.x - o.target);
  return hlo::Select(hlo::Le(z, delta), z * z * 0.5, delta * (z - delta * 0.5));
}
Value HuberSlope(Context& c, const Operands& o) {
  Value delta = ScalarLike(c, "delta", o);
  return hlo::Clamp(-delta, o.x - o.target, delta);
}

Value SoftMargin(Context&, const Operands& o) { return hlo::Log1p(hlo::Exp(-(o.target * o.x))); }
Value SoftMarginSlope(Context&, const Operands& o) {
  Value z = hlo::Exp(-(o.target * o.x));
  return -(o.target * z) / (z + 1.0);
}

Value Weighted(Context& c, Value x, std::string_view name) {
  if (!c.Has(name)) return x;
  return x * hlo::BroadcastTo(c.TensorAs(name, x.dtype()), x.dims());
}

// PyTorch bounds the logarithms at -100.
Value CrossEntropy(Context& c, const Operands& o) {
  Value floor = hlo::ConstantLike(o.x, -100);
  Value log_x = hlo::Max(hlo::Log(o.x), floor);
  Value log_rest = hlo::Max(hlo::Log1p(-o.x), floor);
  return Weighted(c, (o.target - 1.0) * log_rest - o.target * log_x, "weight");
}
Value CrossEntropySlope(Context& c, const Operands& o) {
  Value spread = hlo::Max((1.0 - o.x) * o.x, hlo::ConstantLike(o.x, 1e-12));
  return Weighted(c, (o.x - o.target) / spread, "weight");
}

Value LogitsCrossEntropy(Context& c, const Operands& o) {
  Value softplus = hlo::Log1p(hlo::Exp(-hlo::Abs(o.x))) + hlo::Max(-o.x, hlo::ZerosLike(o.x));
  if (c.Has("pos_weight")) {
    Value weight = hlo::BroadcastTo(c.TensorAs("pos_weight", o.dtype()), o.dims());
    softplus = softplus * ((weight - 1.0) * o.target + 1.0);
  }
  return Weighted(c, (1.0 - o.target) * o.x + softplus, "weight");
}

constexpr Traits kStaticP{.static_scalars = "p"};

const Row kRows[] = {
    {"mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", Loss<SquaredError>},
    {"mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor",
     LossBackward<SquaredErrorSlope>},
    {"smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor",
     Loss<SmoothL1>},
    {"smooth_l1_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float "
     "beta) -> Tensor",
     LossBackward<SmoothL1Slope>},
    {"huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor",
     Loss<Huber>},
    {"huber_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float "
     "delta) "
     "-> Tensor",
     LossBackward<HuberSlope>},
    {"soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", Loss<SoftMargin>},
    {"soft_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> "
     "Tensor",
     LossBackward<SoftMarginSlope>},
    {"binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> "
     "Tensor",
     Loss<CrossEntropy>},
    {"binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? "
     "weight=None, int reduction=1) -> Tensor",
     LossBackward<CrossEntropySlope>},
    {"binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? "
     "pos_weight=None, int reduction=1) -> Tensor",
     Loss<LogitsCrossEntropy>},
    {"nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt "
     "ignore_index) -> (Tensor output, Tensor total_weight)",
     NllLoss},
    {"nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int "
     "reduction, SymInt ignore_index, Tensor total_weight) -> Tensor",
     NllLossBackward},
    {"nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt "
     "ignore_index) -> (Tensor output, Tensor total_weight)",
     NllLoss},
    {"nll_loss2d_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int "
     "reduction, SymInt ignore_index, Tensor total_weight) -> Tensor",
     NllLossBackward},
    {"multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? "
     "weight=None, int reduction=1) -> Tensor",
     MultiMarginLoss, kStaticP},
    {"multi_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, Scalar p, Scalar "
     "margin, Tensor? weight=None, int reduction=1) -> Tensor",
     MultiMarginLossBackward, kStaticP},
    {"multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor output, "
     "Tensor is_target)",
     MultilabelMarginLoss},
    {"multilabel_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int "
     "reduction, "
     "Tensor is_target) -> Tensor",
     MultilabelMarginLossBackward},
};

}  // namespace

std::span<const Row> LossRows() { return kRows; }

}  // namespace tpjrt::lower
