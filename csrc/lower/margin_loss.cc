#include "lower/margin_loss.h"

#include "base/error.h"
#include "hlo/elementwise.h"
#include "hlo/index.h"
#include "hlo/shape.h"
#include "lower/loss_reduction.h"
#include "lower/reducing.h"

namespace tpjrt::lower {
namespace {

// self as [batch, classes].
Value Scores(Context& c) {
  const Type type = c.TensorType("self");
  const int64_t classes = type.rank() == 0 ? 1 : type.dims.back();
  const int64_t batch = type.rank() < 2 ? 1 : type.dims[0];
  return hlo::Reshape(c.TensorAs("self", ComputeType(type.dtype)), {batch, classes});
}

Value ZeroWhere(Value condition, Value x) { return hlo::Select(condition, hlo::ZerosLike(x), x); }

Value Hinge(Value x) { return hlo::Max(x, hlo::ZerosLike(x)); }

// The gradient of the reduced loss for each example, [batch], over classes.
Value ExampleGradient(Context& c, Value scores) {
  Value grad = c.TensorAs("grad_output", scores.dtype());
  const Dims batch = {scores.dim(0)};
  const bool one_for_all = grad.num_elements() == 1;
  grad = one_for_all ? Splat(hlo::Reshape(grad, {}), batch) : hlo::Reshape(grad, batch);
  const int64_t examples = ReductionOf(c) == LossReduction::kMean ? scores.dim(0) : 1;
  return grad / static_cast<double>(examples * scores.dim(1));
}

// One class per example: the hinge terms [batch, classes] (0 for the class itself), that class's
// mask.
struct MultiClass {
  Value terms, own, weight;
};

MultiClass MultiClassOf(Context& c, Value x) {
  const Dims& dims = x.dims();
  Value target = hlo::Reshape(c.TensorAs("target", DType::kI64), {dims[0]});
  MultiClass m;
  m.own = hlo::Eq(hlo::Iota(c.builder(), DType::kI64, dims, 1), Spread(target, dims, {1}));
  Value own_score = PickAt(x, hlo::Convert(target, Positions(x, 1).dtype()), 1);
  Value margin = Splat(c.Scalar("margin", x.dtype()), dims);
  m.terms = ZeroWhere(m.own, Hinge(margin - Spread(own_score, dims, {1}) + x));
  m.weight = c.Has("weight") ? hlo::Take(c.TensorAs("weight", x.dtype()), target)
                             : hlo::ConstantLike(own_score, 1);
  return m;
}

double Power(Context& c) {
  const double p = c.StaticDouble("p");
  Require(p == 1 || p == 2, "multi_margin_loss: only p == 1 and p == 2 supported, got ", p);
  return p;
}

}  // namespace

Outcome MultiMarginLoss(Context& c) {
  Value x = Scores(c);
  const MultiClass m = MultiClassOf(c, x);
  Value terms = Power(c) == 2 ? m.terms * m.terms : m.terms;
  Value loss = ReduceOver(Monoid::kSum, terms, {1}) * m.weight / static_cast<double>(x.dim(1));
  return ReducedLoss(c, loss);
}

Outcome MultiMarginLossBackward(Context& c) {
  Value x = Scores(c);
  const Dims& dims = x.dims();
  const MultiClass m = MultiClassOf(c, x);
  Value scale = Spread(ExampleGradient(c, x) * m.weight, dims, {1});
  Value active = hlo::Gt(m.terms, 0.0);
  Value slope = Power(c) == 2 ? scale * m.terms * 2.0 : scale;
  slope = hlo::Select(active, slope, hlo::ZerosLike(slope));
  Value total = Spread(ReduceOver(Monoid::kSum, slope, {1}), dims, {1});
  return FinishedAs(hlo::Select(m.own, -total, slope), c.TensorType("self"));
}

namespace {

// The targets of an example end at the first -1. [batch, slot, class] arrays say which class a slot
// names and how far each other class is inside that slot's margin.
struct MultiLabel {
  Value slot_is_class;  // only for the slots that count
  Value terms;          // hinge terms against classes that are no target
  Value is_target;      // [batch, class]
};

MultiLabel MultiLabelOf(Context& c, Value x) {
  hlo::Builder& b = c.builder();
  const int64_t classes = x.dim(1);
  const Dims cube = {x.dim(0), classes, classes};
  Value target = hlo::Reshape(c.TensorAs("target", DType::kI64), x.dims());
  Value slots = hlo::Iota(b, DType::kI64, x.dims(), 1);
  Value none = hlo::ConstantLike(slots, static_cast<double>(classes));
  Value end = ReduceOver(Monoid::kMin, hlo::Select(hlo::Lt(target, 0.0), slots, none), {1});
  Value counts = hlo::Lt(slots, Spread(end, x.dims(), {1}));
  MultiLabel m;
  Value names = hlo::Eq(Spread(target, cube, {2}), hlo::Iota(b, DType::kI64, cube, 2));
  m.slot_is_class = hlo::And(names, Spread(counts, cube, {2}));
  m.is_target = ReduceOver(Monoid::kOr, m.slot_is_class, {1});
  Value scores = Spread(x, cube, {1});
  Value named = hlo::Select(m.slot_is_class, scores, hlo::ZerosLike(scores));
  Value slot_score = Spread(ReduceOver(Monoid::kSum, named, {2}), cube, {2});
  Value hinge = Hinge(1.0 - slot_score + scores);
  Value relevant = hlo::And(Spread(counts, cube, {2}), hlo::Not(Spread(m.is_target, cube, {1})));
  m.terms = ZeroWhere(hlo::Not(relevant), hinge);
  return m;
}

}  // namespace

Outcome MultilabelMarginLoss(Context& c) {
  Value x = Scores(c);
  const MultiLabel m = MultiLabelOf(c, x);
  Value loss = ReduceOver(Monoid::kSum, m.terms, {1, 2}) / static_cast<double>(x.dim(1));
  return {ReducedLoss(c, loss), Finished(c, m.is_target, 1)};
}

Outcome MultilabelMarginLossBackward(Context& c) {
  Value x = Scores(c);
  const MultiLabel m = MultiLabelOf(c, x);
  const Dims& cube = m.terms.dims();
  Value active = hlo::Convert(hlo::Gt(m.terms, 0.0), x.dtype());
  Value pushed = ReduceOver(Monoid::kSum, active, {1});
  Value per_slot = Spread(ReduceOver(Monoid::kSum, active, {2}), cube, {2});
  Value pulled = ReduceOver(Monoid::kSum,
                            hlo::Select(m.slot_is_class, per_slot, hlo::ZerosLike(per_slot)), {1});
  return FinishedAs((pushed - pulled) * Spread(ExampleGradient(c, x), x.dims(), {1}),
                    c.TensorType("self"));
}

}  // namespace tpjrt::lower
