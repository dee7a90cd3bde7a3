// Fused optimizer steps and the gradient scaler's two ops, over whole parameter lists in one
// program.
//
// These ops only write their arguments: a lowering returns the new value of every written argument
// in schema order, lists flattened.
#include "base/error.h"
#include "hlo/elementwise.h"
#include "hlo/shape.h"
#include "lower/families.h"
#include "lower/reducing.h"

namespace tpjrt::lower {
namespace {

// The numbers that all parameters of a step share; each of rank 0 in float32, or float64 for
// float64. `one_minus` is subtracted in float64: 1 - 0.999 loses half of its digits in float32.
class Hyper {
 public:
  Hyper(Context& c, DType dtype) : c_(c), dtype_(dtype) {}
  Value Number(std::string_view name) { return c_.Scalar(name, dtype_); }
  Value OneMinus(std::string_view name) {
    return hlo::Convert(1.0 - c_.Scalar(name, DType::kF64), dtype_);
  }
  // 1 - beta^step, from 1 - beta: exact digits for a beta near 1.
  Value BiasCorrection(Value one_minus_beta, Value step) {
    return -hlo::Expm1(step * hlo::Log1p(-one_minus_beta));
  }

 private:
  Context& c_;
  DType dtype_;
};

Value Like(Value scalar, Value x) { return Splat(hlo::Reshape(scalar, {}), x.dims()); }

// What the gradient scaler passes along: gradients are divided by `scale`; if an infinity was found
// nothing changes.
struct Scaler {
  Value scale, found_inf;  // rank 0, may be invalid

  explicit Scaler(Context& c) {
    if (c.Has("grad_scale")) scale = hlo::Reshape(c.TensorAs("grad_scale", DType::kF32), {});
    if (c.Has("found_inf")) found_inf = hlo::Reshape(c.TensorAs("found_inf", DType::kF32), {});
  }
  Value Unscale(Value grad) const {
    return scale.valid() ? grad / Like(hlo::Convert(scale, grad.dtype()), grad) : grad;
  }
  Value Keep(Value before, Value after) const {
    return found_inf.valid() ? hlo::Select(hlo::Eq(found_inf, 1.0), before, after) : after;
  }
  // The step writes the unscaled gradient back.
  Value KeepGrad(Value before, Value unscaled) const {
    return scale.valid() ? Keep(before, hlo::Convert(unscaled, before.dtype())) : before;
  }
};

DType StepCompute(const std::vector<Value>& parameters) {
  return parameters.empty() ? DType::kF32 : ComputeType(parameters[0].dtype());
}

// The new values of one written list.
class Written {
 public:
  explicit Written(const Scaler& scaler) : scaler_(scaler) {}
  void Add(Value before, Value after) {
    values_.push_back(scaler_.Keep(before, hlo::Convert(after, before.dtype())));
  }
  void AppendTo(std::vector<Value>& all) const {
    all.insert(all.end(), values_.begin(), values_.end());
  }

 private:
  const Scaler& scaler_;
  std::vector<Value> values_;
};

struct AdamLists {
  std::vector<Value> self, grads, means, squares, maxima, steps;
};

struct AdamNumbers {
  Value lr, weight_decay, eps, one_minus1, beta2, one_minus2;
};

struct AdamState {
  Value parameter, mean, square, maximum;
};

// One parameter's step. Decoupled weight decay (AdamW) shrinks the parameter, the other kind adds
// to the gradient.
template <bool kDecoupled>
AdamState AdamStep(const AdamState& old, Value grad, Value step, const AdamNumbers& n,
                   Hyper& hyper) {
  AdamState next = old;
  Value w = old.parameter;
  if (kDecoupled) {
    next.parameter = w * (1.0 - Like(n.lr * n.weight_decay, w));
  } else {
    grad = grad + w * Like(n.weight_decay, w);
  }
  next.mean = old.mean + (grad - old.mean) * Like(n.one_minus1, w);
  next.square = old.square * Like(n.beta2, w) + grad * grad * Like(n.one_minus2, w);
  Value largest = next.square;
  if (old.maximum.valid()) largest = next.maximum = hlo::Max(old.maximum, next.square);
  Value step_size = n.lr / hyper.BiasCorrection(n.one_minus1, step);
  Value root = hlo::Sqrt(hyper.BiasCorrection(n.one_minus2, step));
  Value denominator = hlo::Sqrt(largest) / Like(root, w) + Like(n.eps, w);
  next.parameter = next.parameter - Like(step_size, w) * next.mean / denominator;
  return next;
}

template <bool kDecoupled, bool kTensorRate>
Outcome FusedAdam(Context& c) {
  const AdamLists lists = {
      c.TensorList("self"),        c.TensorList("grads"),           c.TensorList("exp_avgs"),
      c.TensorList("exp_avg_sqs"), c.TensorList("max_exp_avg_sqs"), c.TensorList("state_steps")};
  const DType dtype = StepCompute(lists.self);
  Hyper hyper(c, dtype);
  const Scaler scaler(c);
  const AdamNumbers numbers = {
      kTensorRate ? hlo::Reshape(c.TensorAs("lr", dtype), {}) : hyper.Number("lr"),
      hyper.Number("weight_decay"),
      hyper.Number("eps"),
      hyper.OneMinus("beta1"),
      hyper.Number("beta2"),
      hyper.OneMinus("beta2")};
  const bool amsgrad = c.Bool("amsgrad"), maximize = c.Bool("maximize");
  Written self(scaler), means(scaler), squares(scaler), maxima(scaler);
  std::vector<Value> grads;
  const auto compute = [dtype](Value x) { return hlo::Convert(x, dtype); };
  for (size_t i = 0; i < lists.self.size(); ++i) {
    AdamState old{compute(lists.self[i]), compute(lists.means[i]), compute(lists.squares[i]), {}};
    if (amsgrad) old.maximum = compute(lists.maxima[i]);
    Value grad = scaler.Unscale(compute(lists.grads[i]));
    grads.push_back(scaler.KeepGrad(lists.grads[i], grad));
    Value step = hlo::Reshape(compute(lists.steps[i]), {});
    const AdamState next = AdamStep<kDecoupled>(old, maximize ? -grad : grad, step, numbers, hyper);
    self.Add(lists.self[i], next.parameter);
    means.Add(lists.means[i], next.mean);
    squares.Add(lists.squares[i], next.square);
    if (amsgrad) maxima.Add(lists.maxima[i], next.maximum);
  }
  std::vector<Value> all;
  self.AppendTo(all);
  all.insert(all.end(), grads.begin(), grads.end());
  means.AppendTo(all);
  squares.AppendTo(all);
  maxima.AppendTo(all);
  for (size_t i = amsgrad ? lists.maxima.size() : 0; i < lists.maxima.size(); ++i) {
    all.push_back(lists.maxima[i]);
  }
  return all;
}

struct SgdNumbers {
  Value lr, weight_decay, momentum, undamped;
};

template <bool kTensorRate>
Outcome FusedSgd(Context& c) {
  const std::vector<Value> self = c.TensorList("self"), grads = c.TensorList("grads"),
                           momenta = c.TensorList("momentum_buffer_list");
  const DType dtype = StepCompute(self);
  Hyper hyper(c, dtype);
  const Scaler scaler(c);
  const SgdNumbers n = {
      kTensorRate ? hlo::Reshape(c.TensorAs("lr", dtype), {}) : hyper.Number("lr"),
      hyper.Number("weight_decay"), hyper.Number("momentum"), hyper.OneMinus("dampening")};
  const bool first = c.Bool("is_first_step"), nesterov = c.Bool("nesterov");
  Written new_self(scaler), new_momenta(scaler);
  std::vector<Value> new_grads;
  for (size_t i = 0; i < self.size(); ++i) {
    Value w = hlo::Convert(self[i], dtype);
    Value grad = scaler.Unscale(hlo::Convert(grads[i], dtype));
    new_grads.push_back(scaler.KeepGrad(grads[i], grad));
    if (c.Bool("maximize")) grad = -grad;
    grad = grad + w * Like(n.weight_decay, w);
    if (!momenta.empty()) {
      Value momentum = Like(n.momentum, w);
      Value velocity = grad;
      if (!first) {
        velocity = hlo::Convert(momenta[i], dtype) * momentum + grad * Like(n.undamped, w);
      }
      grad = nesterov ? grad + velocity * momentum : velocity;
      new_momenta.Add(momenta[i], velocity);
    }
    new_self.Add(self[i], w - grad * Like(n.lr, w));
  }
  std::vector<Value> all;
  new_self.AppendTo(all);
  all.insert(all.end(), new_grads.begin(), new_grads.end());
  new_momenta.AppendTo(all);
  return all;
}

// Multiplies the gradients by inv_scale and sets found_inf to 1 if any is not finite.
Outcome UnscaleAndCheck(Context& c) {
  const std::vector<Value> grads = c.TensorList("self");
  Value found = c.Tensor("found_inf");
  Value inverse = c.TensorAs("inv_scale", DType::kF32);
  std::vector<Value> all;
  for (Value grad : grads) {
    Value x = hlo::Convert(grad, ComputeType(grad.dtype()));
    Value bad = ReduceOver(Monoid::kOr, hlo::Not(hlo::IsFinite(x)), AllDims(x.rank()));
    found = hlo::Select(Splat(bad, found.dims()), hlo::ConstantLike(found, 1), found);
    Value scaled = x * Like(hlo::Convert(inverse, x.dtype()), x);
    all.push_back(hlo::Convert(scaled, grad.dtype()));
  }
  all.push_back(found);
  return all;
}

// Backs off after an infinity, grows after growth_interval good steps.
Outcome UpdateScale(Context& c) {
  Value scale = c.Tensor("self");
  Value tracker = c.Tensor("growth_tracker");
  const Dims& dims = scale.dims();
  const DType dtype = scale.dtype();
  Value backoff = Splat(c.Scalar("scale_backoff_factor", dtype), dims);
  Value growth = Splat(c.Scalar("scale_growth_factor", dtype), dims);
  Value overflowed = hlo::Gt(hlo::Reshape(c.Tensor("found_inf"), dims), 0.0);
  Value successes = tracker + 1.0;
  Value due = hlo::Reshape(hlo::Eq(successes, static_cast<double>(c.Int("growth_interval"))), dims);
  Value grown = scale * growth;
  Value larger = hlo::Select(hlo::IsFinite(grown), grown, scale);
  Value next = hlo::Select(overflowed, scale * backoff, hlo::Select(due, larger, scale));
  Value restarts = hlo::Reshape(hlo::Or(overflowed, due), tracker.dims());
  return {next, hlo::Select(restarts, hlo::ZerosLike(tracker), successes)};
}

#define TPJRT_ADAM_LISTS                                                                      \
  "(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, " \
  "Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, "
#define TPJRT_ADAM_NUMBERS                                                                      \
  " lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, " \
  "Tensor? grad_scale=None, Tensor? found_inf=None) -> ()"

const Row kRows[] = {
    {"_fused_adamw_" TPJRT_ADAM_LISTS "float" TPJRT_ADAM_NUMBERS, FusedAdam<true, false>},
    {"_fused_adamw_.tensor_lr" TPJRT_ADAM_LISTS "Tensor" TPJRT_ADAM_NUMBERS, FusedAdam<true, true>},
    {"_fused_adam_" TPJRT_ADAM_LISTS "float" TPJRT_ADAM_NUMBERS, FusedAdam<false, false>},
    {"_fused_adam_.tensor_lr" TPJRT_ADAM_LISTS "Tensor" TPJRT_ADAM_NUMBERS, FusedAdam<false, true>},
    {"_fused_sgd_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] momentum_buffer_list, *, "
     "float "
     "weight_decay, float momentum, float lr, float dampening, bool nesterov, bool maximize, bool "
     "is_first_step, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()",
     FusedSgd<false>},
    {"_fused_sgd_.tensor_lr(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] "
     "momentum_buffer_list, *, float weight_decay, float momentum, Tensor lr, float dampening, "
     "bool "
     "nesterov, bool maximize, bool is_first_step, Tensor? grad_scale=None, Tensor? "
     "found_inf=None) "
     "-> ()",
     FusedSgd<true>},
    {"_amp_foreach_non_finite_check_and_unscale_(Tensor(a!)[] self, Tensor(b!) found_inf, Tensor "
     "inv_scale) -> ()",
     UnscaleAndCheck},
    {"_amp_update_scale_(Tensor(a!) self, Tensor(b!) growth_tracker, Tensor found_inf, float "
     "scale_growth_factor, float scale_backoff_factor, int growth_interval) -> Tensor(a!)",
     UpdateScale, Traits{.also_writes = "growth_tracker"}},
};

#undef TPJRT_ADAM_LISTS
#undef TPJRT_ADAM_NUMBERS

}  // namespace

std::span<const Row> OptimizerRows() { return kRows; }

}  // namespace tpjrt::lower
