#include "lower/nll_loss.h"

#include <limits>

#include "base/error.h"
#include "hlo/elementwise.h"
#include "hlo/index.h"
#include "hlo/shape.h"
#include "lower/index_support.h"
#include "lower/loss_reduction.h"
#include "lower/reducing.h"

namespace tpjrt::lower {
namespace {

// self as [batch, classes, positions] and target as [batch, positions].
struct Likelihoods {
  Value x, target;
  int64_t batch = 1, classes = 1, positions = 1;
};

Likelihoods LikelihoodsOf(Context& c) {
  const Type type = c.TensorType("self");
  Likelihoods l;
  Require(type.rank() >= 1, "nll_loss: the input must have a class dim, got ", ToString(type));
  l.classes = type.dims[type.rank() == 1 ? 0 : 1];
  if (type.rank() > 1) l.batch = type.dims[0];
  for (size_t i = 2; i < type.dims.size(); ++i) l.positions *= type.dims[i];
  l.x =
      hlo::Reshape(c.TensorAs("self", ComputeType(type.dtype)), {l.batch, l.classes, l.positions});
  l.target = hlo::Reshape(c.TensorAs("target", DType::kI64), {l.batch, l.positions});
  return l;
}

Value Flag(Value x, Value condition) {
  return hlo::Select(condition, hlo::ConstantLike(x, std::numeric_limits<double>::quiet_NaN()), x);
}

// Per target: is it counted, is it out of range, and its class's weight (0 where it is ignored).
struct Targets {
  Value counted, wrong, weight;
};

Targets TargetsOf(Context& c, const Likelihoods& l) {
  const Dims& dims = l.target.dims();
  hlo::Builder& b = c.builder();
  Targets t;
  t.counted = hlo::Ne(l.target, hlo::ConstantInt(b, DType::kI64, c.Int("ignore_index"), dims));
  Value outside =
      hlo::Or(hlo::Lt(l.target, 0.0), hlo::Ge(l.target, static_cast<double>(l.classes)));
  t.wrong = hlo::And(t.counted, outside);
  ReportBadIndices(l.target, t.wrong, l.classes);
  Value weight = hlo::ConstantLike(hlo::Convert(l.target, l.x.dtype()), 1);
  if (c.Has("weight") && l.classes > 0) {
    weight = hlo::Take(c.TensorAs("weight", l.x.dtype()), l.target);
  }
  t.weight = hlo::Select(t.counted, weight, hlo::ZerosLike(weight));
  return t;
}

// x[n, target[n, p], p] (clamped).
Value Chosen(const Likelihoods& l) {
  if (l.x.num_elements() == 0) {
    return hlo::Constant(l.x.builder(), l.x.dtype(), 0, l.target.dims());
  }
  hlo::Builder& b = l.x.builder();
  const Dims& dims = l.target.dims();
  Value top = hlo::ConstantInt(b, DType::kI64, l.classes - 1, dims);
  Value inside = hlo::Max(hlo::ZerosLike(top), hlo::Min(l.target, top));
  Value row = hlo::Iota(b, DType::kI64, dims, 0) * static_cast<double>(l.classes);
  Value at = (row + inside) * static_cast<double>(l.positions) + hlo::Iota(b, DType::kI64, dims, 1);
  return hlo::Take(hlo::Flatten(l.x), at);
}

// nll_loss with one example and no reduction gives the sum.
LossReduction EffectiveReduction(Context& c) {
  const LossReduction asked = ReductionOf(c);
  const bool single = c.TensorType("self").rank() == 1;
  return single && asked == LossReduction::kNone ? LossReduction::kSum : asked;
}

}  // namespace

Outcome NllLoss(Context& c) {
  const Likelihoods l = LikelihoodsOf(c);
  const Targets t = TargetsOf(c, l);
  Value loss = hlo::Select(t.counted, -(Chosen(l) * t.weight), hlo::ZerosLike(t.weight));
  loss = Flag(loss, t.wrong);
  const LossReduction reduction = EffectiveReduction(c);
  if (reduction == LossReduction::kNone) {
    return {Finished(c, loss, 0),
            hlo::Constant(c.builder(), c.Result(1).dtype, 0, c.Result(1).dims)};
  }
  Value sum = ReduceOver(Monoid::kSum, loss, {0, 1});
  Value total = ReduceOver(Monoid::kSum, t.weight, {0, 1});
  if (reduction == LossReduction::kMean) sum = sum / total;
  return {Finished(c, hlo::BroadcastTo(sum, c.Result(0).dims), 0), Finished(c, total, 1)};
}

Outcome NllLossBackward(Context& c) {
  const Likelihoods l = LikelihoodsOf(c);
  const Targets t = TargetsOf(c, l);
  const Dims& dims = l.target.dims();
  Value grad = c.TensorAs("grad_output", l.x.dtype());
  const bool one_for_all = hlo::NumElements(grad.dims()) == 1;
  grad = one_for_all ? Splat(hlo::Reshape(grad, {}), dims) : hlo::Reshape(grad, dims);
  Value share = -(t.weight * grad);
  if (ReductionOf(c) == LossReduction::kMean) {
    share = share / Splat(hlo::Reshape(c.TensorAs("total_weight", l.x.dtype()), {}), dims);
  }
  share = Flag(hlo::Select(t.counted, share, hlo::ZerosLike(share)), t.wrong);
  Value classes = hlo::Iota(c.builder(), DType::kI64, l.x.dims(), 1);
  Value hit = hlo::And(hlo::Eq(classes, Spread(l.target, l.x.dims(), {1})),
                       Spread(t.counted, l.x.dims(), {1}));
  return Finished(c, hlo::Select(hit, Spread(share, l.x.dims(), {1}), hlo::ZerosLike(l.x)));
}

}  // namespace tpjrt::lower
