// Layer, group, batch and weight normalisation, forward and backward. Statistics are computed in
// float32 for float16 and bfloat16, the variance in two passes.
#include "base/error.h"
#include "hlo/elementwise.h"
#include "hlo/shape.h"
#include "lower/batch_norm.h"
#include "lower/families.h"
#include "lower/reducing.h"
#include "lower/standardize.h"

namespace tpjrt::lower {
namespace {

DType InputCompute(Context& c) { return ComputeType(c.TensorType("input").dtype); }

// The last dims of x, as many as normalized_shape has.
Dims NormalizedDims(Context& c, int64_t rank) {
  const auto count = static_cast<int64_t>(c.Ints("normalized_shape").size());
  Dims dims;
  for (int64_t i = rank - count; i < rank; ++i) dims.push_back(i);
  return dims;
}

Outcome LayerNorm(Context& c) {
  Value x = c.TensorAs("input", InputCompute(c));
  const Standardized s = Standardize(x, NormalizedDims(c, x.rank()), c.Scalar("eps", x.dtype()));
  Value y = s.normal;
  if (c.Has("weight")) y = y * hlo::BroadcastTo(c.TensorAs("weight", x.dtype()), x.dims());
  if (c.Has("bias")) y = y + hlo::BroadcastTo(c.TensorAs("bias", x.dtype()), x.dims());
  return {Finished(c, y, 0), Finished(c, s.mean, 1), Finished(c, s.inverse, 2)};
}

// Statistics as the forward returned them (kept dims of size 1), without the kept dims.
Value Statistic(Context& c, std::string_view name, DType dtype, const Dims& outer) {
  return hlo::Reshape(c.TensorAs(name, dtype), outer);
}

Outcome LayerNormBackward(Context& c) {
  const DType dtype = InputCompute(c);
  Value x = c.TensorAs("input", dtype);
  Value grad = c.TensorAs("grad_out", dtype);
  const Dims dims = NormalizedDims(c, x.rank());
  const Dims outer_dims = OtherDims(dims, x.rank());
  const Dims outer(x.dims().begin(), x.dims().begin() + static_cast<int64_t>(outer_dims.size()));
  Value inverse = Statistic(c, "rstd", dtype, outer);
  Value normal = StandardizeWith(x, Statistic(c, "mean", dtype, outer), inverse, dims);
  const std::vector<bool> wanted = c.Bools("output_mask");
  std::vector<Value> results(3);
  if (wanted[0]) {
    Value g = grad;
    if (c.Has("weight")) g = g * hlo::BroadcastTo(c.TensorAs("weight", dtype), x.dims());
    results[0] = Finished(c, StandardizeBackward(g, normal, inverse, dims), 0);
  }
  if (wanted[1] && c.Has("weight")) {
    results[1] = Finished(c, ReduceOver(Monoid::kSum, grad * normal, outer_dims), 1);
  }
  if (wanted[2] && c.Has("bias")) {
    results[2] = Finished(c, ReduceOver(Monoid::kSum, grad, outer_dims), 2);
  }
  return results;
}

// [N, C, ...] seen as [N, groups, C / groups * ...], normalised over the last dim, and as [N, C,
// ...].
struct Groups {
  Dims grouped, channels;
};
Groups GroupsOf(Context& c) {
  const int64_t n = c.Int("N"), channels = c.Int("C"), spatial = c.Int("HxW");
  const int64_t groups = c.Int("group");
  Require(groups > 0 && channels % groups == 0, "group norm: ", channels,
          " channels do not divide into ", groups, " groups");
  return {{n, groups, channels / groups * spatial}, {n, channels, spatial}};
}

Outcome GroupNorm(Context& c) {
  const Groups shape = GroupsOf(c);
  Value x = hlo::Reshape(c.TensorAs("input", InputCompute(c)), shape.grouped);
  const Standardized s = Standardize(x, {2}, c.Scalar("eps", x.dtype()));
  Value y = hlo::Reshape(s.normal, shape.channels);
  if (c.Has("weight")) y = y * SpreadDim(c.TensorAs("weight", y.dtype()), y.dims(), 1);
  if (c.Has("bias")) y = y + SpreadDim(c.TensorAs("bias", y.dtype()), y.dims(), 1);
  return {Finished(c, y, 0), Finished(c, s.mean, 1), Finished(c, s.inverse, 2)};
}

Outcome GroupNormBackward(Context& c) {
  const DType dtype = InputCompute(c);
  const Groups shape = GroupsOf(c);
  const Dims statistics = {shape.grouped[0], shape.grouped[1]};
  Value x = hlo::Reshape(c.TensorAs("input", dtype), shape.grouped);
  Value grad = hlo::Reshape(c.TensorAs("grad_out", dtype), shape.channels);
  Value inverse = Statistic(c, "rstd", dtype, statistics);
  Value normal = StandardizeWith(x, Statistic(c, "mean", dtype, statistics), inverse, {2});
  const std::vector<bool> wanted = c.Bools("output_mask");
  std::vector<Value> results(3);
  if (wanted[0]) {
    Value g = grad;
    if (c.Has("weight")) g = g * SpreadDim(c.TensorAs("weight", dtype), g.dims(), 1);
    results[0] =
        Finished(c, StandardizeBackward(hlo::Reshape(g, shape.grouped), normal, inverse, {2}), 0);
  }
  if (wanted[1]) {
    Value products = grad * hlo::Reshape(normal, shape.channels);
    results[1] = Finished(c, ReduceOver(Monoid::kSum, products, {0, 2}), 1);
  }
  if (wanted[2]) results[2] = Finished(c, ReduceOver(Monoid::kSum, grad, {0, 2}), 2);
  return results;
}

// v * g / norm, where the norm of v is over all dims but `dim`. The second result is the norm.
Outcome WeightNorm(Context& c) {
  const DType dtype = ComputeType(c.TensorType("v").dtype);
  Value v = c.TensorAs("v", dtype);
  const int64_t dim = Context::WrapDim(c.Int("dim"), v.rank());
  Value norm = hlo::Sqrt(ReduceOver(Monoid::kSum, v * v, OtherDims({dim}, v.rank())));
  Value g = hlo::Reshape(c.TensorAs("g", dtype), norm.dims());
  return {Finished(c, v * SpreadDim(g / norm, v.dims(), dim), 0), Finished(c, norm, 1)};
}

Outcome WeightNormBackward(Context& c) {
  const DType dtype = ComputeType(c.TensorType("saved_v").dtype);
  Value v = c.TensorAs("saved_v", dtype);
  Value grad = c.TensorAs("grad_w", dtype);
  const int64_t dim = Context::WrapDim(c.Int("dim"), v.rank());
  const Dims vector = {v.dim(dim)};
  Value norm = hlo::Reshape(c.TensorAs("saved_norms", dtype), vector);
  Value g = hlo::Reshape(c.TensorAs("saved_g", dtype), vector);
  Value along = ReduceOver(Monoid::kSum, grad * v, OtherDims({dim}, v.rank()));
  Value grad_v = SpreadDim(g / norm, v.dims(), dim) *
                 (grad - v * SpreadDim(along / (norm * norm), v.dims(), dim));
  return {Finished(c, grad_v, 0), Finished(c, along / norm, 1)};
}

constexpr Traits kUpdatesStatistics{.also_writes = "running_mean,running_var",
                                    .own_result_sizes = true};

const Row kRows[] = {
    {"native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, "
     "float "
     "eps) -> (Tensor, Tensor, Tensor)",
     LayerNorm},
    {"native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor "
     "mean, Tensor rstd, Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, "
     "Tensor)",
     LayerNormBackward},
    {"native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt "
     "HxW, "
     "int group, float eps) -> (Tensor, Tensor, Tensor)",
     GroupNorm},
    {"native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? "
     "weight, SymInt N, SymInt C, SymInt HxW, int group, bool[3] output_mask) -> (Tensor, Tensor, "
     "Tensor)",
     GroupNormBackward},
    {"native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
     "running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
     NativeBatchNorm, kUpdatesStatistics},
    {"_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) "
     "running_mean, "
     "Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, "
     "Tensor)",
     NativeBatchNorm, kUpdatesStatistics},
    {"_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor "
     "running_mean, Tensor running_var, bool training, float momentum, float eps) -> (Tensor, "
     "Tensor, "
     "Tensor, Tensor running_mean_out, Tensor running_var_out)",
     NativeBatchNormFunctional},
    {"_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, "
     "float momentum, float eps) -> (Tensor, Tensor, Tensor)",
     NativeBatchNormNoStats},
    {"_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor "
     "running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
     NativeBatchNormNoTraining},
    {"_batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, "
     "Tensor(b!) running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)",
     BatchNormWithUpdate, kUpdatesStatistics},
    {"_batch_norm_with_update_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor "
     "running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, "
     "Tensor, Tensor running_mean_out, Tensor running_var_out)",
     BatchNormWithUpdate},
    {"_batch_norm_no_update(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
     "Tensor? running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)",
     BatchNormNoUpdate},
    {"native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? "
     "running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float "
     "eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
     NativeBatchNormBackward},
    {"batch_norm_backward(Tensor grad_out, Tensor input, Tensor weight, Tensor? running_mean, "
     "Tensor? running_var, Tensor? save_mean, Tensor? save_var, bool update, float eps, bool[3] "
     "output_mask, Tensor reserve) -> (Tensor, Tensor, Tensor)",
     BatchNormBackward},
    {"_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)", WeightNorm},
    {"_weight_norm_interface_backward(Tensor grad_w, Tensor saved_v, Tensor saved_g, Tensor "
     "saved_norms, int dim) -> (Tensor, Tensor)",
     WeightNormBackward},
};

}  // namespace

std::span<const Row> NormalizationRows() { return kRows; }

}  // namespace tpjrt::lower
