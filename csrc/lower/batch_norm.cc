#include "lower/batch_norm.h"

#include "hlo/elementwise.h"
#include "hlo/shape.h"
#include "lower/reducing.h"
#include "lower/standardize.h"

namespace tpjrt::lower {
namespace {

constexpr int64_t kChannel = 1;

struct BatchNorm {
  Value out, mean, inverse;
  std::vector<Value> running;  // new mean and variance, those that exist
};

// (1 - momentum) * old + momentum * seen, in old's dtype.
Value Updated(Context& c, std::string_view name, Value seen) {
  Value old = c.TensorAs(name, seen.dtype());
  Value momentum = Splat(c.Scalar("momentum", seen.dtype()), seen.dims());
  return hlo::Convert(old * (1.0 - momentum) + seen * momentum, c.TensorType(name).dtype);
}

Value Affine(Context& c, Value normal) {
  Value y = normal;
  if (c.Has("weight")) {
    y = y * SpreadDim(c.TensorAs("weight", y.dtype()), y.dims(), kChannel);
  }
  if (c.Has("bias")) y = y + SpreadDim(c.TensorAs("bias", y.dtype()), y.dims(), kChannel);
  return y;
}

// Statistics that the overload returns; some overloads return empty ones outside training (the
// CPU's kernels do, the meta kernel speaks for other devices).
Value Saved(Context& c, Value statistic, int result, bool empty) {
  if (empty) return hlo::Constant(c.builder(), c.Result(result).dtype, 0, {0});
  const Type& type = c.Result(result);
  if (type.dims != statistic.dims()) return hlo::Constant(c.builder(), type.dtype, 0, type.dims);
  return hlo::Convert(statistic, type.dtype);
}

BatchNorm Train(Context& c, Value x, Value eps, bool keeps_statistics) {
  const Dims dims = OtherDims({kChannel}, x.rank());
  const Standardized s = Standardize(x, dims, eps);
  BatchNorm result{s.normal, s.mean, s.inverse, {}};
  if (!keeps_statistics) return result;
  if (c.Has("running_mean")) result.running.push_back(Updated(c, "running_mean", s.mean));
  if (c.Has("running_var")) {
    const auto count = static_cast<double>(Count(x.dims(), dims));
    result.running.push_back(Updated(c, "running_var", s.variance * (count / (count - 1.0))));
  }
  return result;
}

BatchNorm Infer(Context& c, Value x, Value eps) {
  Value mean = c.TensorAs("running_mean", x.dtype());
  Value variance = c.TensorAs("running_var", x.dtype());
  Value inverse = hlo::Rsqrt(variance + Splat(eps, variance.dims()));
  return {StandardizeWith(x, mean, inverse, OtherDims({kChannel}, x.rank())),
          mean,
          inverse,
          {c.Tensor("running_mean"), c.Tensor("running_var")}};
}

// out, mean, inverse deviation, an unused fourth result where there is one, running statistics.
Outcome Forward(Context& c, bool training, bool keeps_statistics, bool reserve,
                bool empty_statistics = false) {
  const DType dtype = ComputeType(c.TensorType("input").dtype);
  Value x = c.TensorAs("input", dtype);
  Value eps = c.Scalar("eps", dtype);
  BatchNorm norm = training ? Train(c, x, eps, keeps_statistics) : Infer(c, x, eps);
  std::vector<Value> values = {Finished(c, Affine(c, norm.out), 0),
                               Saved(c, norm.mean, 1, empty_statistics),
                               Saved(c, norm.inverse, 2, empty_statistics)};
  if (reserve) values.push_back(hlo::Constant(c.builder(), c.Result(3).dtype, 0, c.Result(3).dims));
  if (keeps_statistics) values.insert(values.end(), norm.running.begin(), norm.running.end());
  return values;
}

struct SavedNames {
  std::string_view inverse, train;
};

Outcome Backward(Context& c, const SavedNames& names) {
  const DType dtype = ComputeType(c.TensorType("input").dtype);
  Value x = c.TensorAs("input", dtype);
  Value grad = c.TensorAs("grad_out", dtype);
  const bool train = c.Bool(names.train);
  const Dims dims = OtherDims({kChannel}, x.rank());
  Value mean = c.TensorAs(train ? "save_mean" : "running_mean", dtype);
  Value inverse;
  if (train) {
    inverse = c.TensorAs(names.inverse, dtype);
  } else {
    Value variance = c.TensorAs("running_var", dtype);
    inverse = hlo::Rsqrt(variance + Splat(c.Scalar("eps", dtype), variance.dims()));
  }
  Value normal = StandardizeWith(x, mean, inverse, dims);
  const std::vector<bool> wanted = c.Bools("output_mask");
  std::vector<Value> results(3);
  if (wanted[0]) {
    Value g = grad;
    if (c.Has("weight")) g = g * SpreadDim(c.TensorAs("weight", dtype), g.dims(), kChannel);
    results[0] = Finished(c,
                          train ? StandardizeBackward(g, normal, inverse, dims)
                                : g * SpreadDim(inverse, g.dims(), kChannel),
                          0);
  }
  if (wanted[1]) results[1] = Finished(c, ReduceOver(Monoid::kSum, grad * normal, dims), 1);
  if (wanted[2]) results[2] = Finished(c, ReduceOver(Monoid::kSum, grad, dims), 2);
  return results;
}

}  // namespace

Outcome NativeBatchNorm(Context& c) {
  const bool training = c.Bool("training");
  return Forward(c, training, true, false, !training);
}

Outcome NativeBatchNormFunctional(Context& c) {
  // Otherwise the CPU's statistics are empty, and PyTorch's meta kernels say that they are not.
  if (!c.Bool("training")) return Unsupported{"functional batch norm that does not train"};
  return Forward(c, true, true, false);
}

Outcome NativeBatchNormNoStats(Context& c) {
  if (!c.Bool("training")) return Unsupported{"batch norm without running statistics must train"};
  return Forward(c, true, false, false);
}

Outcome NativeBatchNormNoTraining(Context& c) { return Forward(c, false, false, false); }
Outcome BatchNormWithUpdate(Context& c) { return Forward(c, true, true, true); }
Outcome BatchNormNoUpdate(Context& c) { return Forward(c, false, false, true); }

Outcome NativeBatchNormBackward(Context& c) { return Backward(c, {"save_invstd", "train"}); }
Outcome BatchNormBackward(Context& c) { return Backward(c, {"save_var", "update"}); }

}  // namespace tpjrt::lower
