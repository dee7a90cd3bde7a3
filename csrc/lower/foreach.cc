// The `_foreach` ops that optimizers and gradient clipping use: a whole parameter list in one
// program instead of one small program per parameter. Each applies an op that has a row of its own.
#include "lower/families.h"

namespace tpjrt::lower {
namespace {

constexpr Row Each(std::string_view schema, std::string_view each) {
  return {schema, nullptr, {.each = each}};
}

constexpr Row kRows[] = {
    Each("_foreach_add.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]", "add.Tensor"),
    Each("_foreach_add.List(Tensor[] self, Tensor[] other, *, Scalar alpha=1) -> Tensor[]",
         "add.Tensor"),
    Each("_foreach_add.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]", "add.Tensor"),
    Each("_foreach_add.Tensor(Tensor[] self, Tensor other, *, Scalar alpha=1) -> Tensor[]",
         "add.Tensor"),
    Each("_foreach_sub.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]", "sub.Tensor"),
    Each("_foreach_sub.List(Tensor[] self, Tensor[] other, *, Scalar alpha=1) -> Tensor[]",
         "sub.Tensor"),
    Each("_foreach_sub.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]", "sub.Tensor"),
    Each("_foreach_mul.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]", "mul.Tensor"),
    Each("_foreach_mul.List(Tensor[] self, Tensor[] other) -> Tensor[]", "mul.Tensor"),
    Each("_foreach_mul.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]", "mul.Tensor"),
    Each("_foreach_mul.Tensor(Tensor[] self, Tensor other) -> Tensor[]", "mul.Tensor"),
    Each("_foreach_div.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]", "div.Tensor"),
    Each("_foreach_div.List(Tensor[] self, Tensor[] other) -> Tensor[]", "div.Tensor"),
    Each("_foreach_div.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]", "div.Tensor"),
    Each("_foreach_div.Tensor(Tensor[] self, Tensor other) -> Tensor[]", "div.Tensor"),
    Each("_foreach_clamp_min.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]", "clamp_min"),
    Each("_foreach_clamp_min.List(Tensor[] self, Tensor[] other) -> Tensor[]", "clamp_min.Tensor"),
    Each("_foreach_clamp_min.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]", "clamp_min"),
    Each("_foreach_clamp_max.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]", "clamp_max"),
    Each("_foreach_clamp_max.List(Tensor[] self, Tensor[] other) -> Tensor[]", "clamp_max.Tensor"),
    Each("_foreach_clamp_max.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]", "clamp_max"),
    Each("_foreach_maximum.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]", "clamp_min"),
    Each("_foreach_maximum.List(Tensor[] self, Tensor[] other) -> Tensor[]", "clamp_min.Tensor"),
    Each("_foreach_maximum.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]", "clamp_min"),
    Each("_foreach_minimum.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]", "clamp_max"),
    Each("_foreach_minimum.List(Tensor[] self, Tensor[] other) -> Tensor[]", "clamp_max.Tensor"),
    Each("_foreach_minimum.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]", "clamp_max"),
    Each("_foreach_addcmul.Scalar(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar "
         "value=1) -> Tensor[]",
         "addcmul"),
    Each("_foreach_addcmul.ScalarList(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar[] "
         "scalars) -> Tensor[]",
         "addcmul"),
    Each("_foreach_addcdiv.Scalar(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar "
         "value=1) -> Tensor[]",
         "addcdiv"),
    Each("_foreach_addcdiv.ScalarList(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar[] "
         "scalars) -> Tensor[]",
         "addcdiv"),
    Each("_foreach_lerp.Scalar(Tensor[] self, Tensor[] tensors1, Scalar weight) -> Tensor[]",
         "lerp.Scalar"),
    Each("_foreach_lerp.List(Tensor[] self, Tensor[] tensors1, Tensor[] weights) -> Tensor[]",
         "lerp.Tensor"),
    Each("_foreach_lerp.ScalarList(Tensor[] self, Tensor[] tensors1, Scalar[] weight) -> Tensor[]",
         "lerp.Scalar"),
    Each("_foreach_pow.Scalar(Tensor[] self, Scalar exponent) -> Tensor[]", "pow.Tensor_Scalar"),
    Each("_foreach_pow.List(Tensor[] self, Tensor[] exponent) -> Tensor[]", "pow.Tensor_Tensor"),
    Each("_foreach_pow.ScalarList(Tensor[] self, Scalar[] exponent) -> Tensor[]",
         "pow.Tensor_Scalar"),
    Each("_foreach_pow.ScalarAndTensor(Scalar self, Tensor[] exponent) -> Tensor[]", "pow.Scalar"),
    Each("_foreach_abs(Tensor[] self) -> Tensor[]", "abs"),
    Each("_foreach_acos(Tensor[] self) -> Tensor[]", "acos"),
    Each("_foreach_asin(Tensor[] self) -> Tensor[]", "asin"),
    Each("_foreach_atan(Tensor[] self) -> Tensor[]", "atan"),
    Each("_foreach_ceil(Tensor[] self) -> Tensor[]", "ceil"),
    Each("_foreach_cos(Tensor[] self) -> Tensor[]", "cos"),
    Each("_foreach_cosh(Tensor[] self) -> Tensor[]", "cosh"),
    Each("_foreach_erf(Tensor[] self) -> Tensor[]", "erf"),
    Each("_foreach_erfc(Tensor[] self) -> Tensor[]", "erfc"),
    Each("_foreach_exp(Tensor[] self) -> Tensor[]", "exp"),
    Each("_foreach_expm1(Tensor[] self) -> Tensor[]", "expm1"),
    Each("_foreach_floor(Tensor[] self) -> Tensor[]", "floor"),
    Each("_foreach_frac(Tensor[] self) -> Tensor[]", "frac"),
    Each("_foreach_lgamma(Tensor[] self) -> Tensor[]", "lgamma"),
    Each("_foreach_log(Tensor[] self) -> Tensor[]", "log"),
    Each("_foreach_log10(Tensor[] self) -> Tensor[]", "log10"),
    Each("_foreach_log1p(Tensor[] self) -> Tensor[]", "log1p"),
    Each("_foreach_log2(Tensor[] self) -> Tensor[]", "log2"),
    Each("_foreach_neg(Tensor[] self) -> Tensor[]", "neg"),
    Each("_foreach_reciprocal(Tensor[] self) -> Tensor[]", "reciprocal"),
    Each("_foreach_round(Tensor[] self) -> Tensor[]", "round"),
    Each("_foreach_rsqrt(Tensor[] self) -> Tensor[]", "rsqrt"),
    Each("_foreach_sigmoid(Tensor[] self) -> Tensor[]", "sigmoid"),
    Each("_foreach_sign(Tensor[] self) -> Tensor[]", "sign"),
    Each("_foreach_sin(Tensor[] self) -> Tensor[]", "sin"),
    Each("_foreach_sinh(Tensor[] self) -> Tensor[]", "sinh"),
    Each("_foreach_sqrt(Tensor[] self) -> Tensor[]", "sqrt"),
    Each("_foreach_tan(Tensor[] self) -> Tensor[]", "tan"),
    Each("_foreach_tanh(Tensor[] self) -> Tensor[]", "tanh"),
    Each("_foreach_trunc(Tensor[] self) -> Tensor[]", "trunc"),
    Each("_foreach_max(Tensor[] self) -> Tensor[]", "max"),
    Each("_foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]",
         "norm.ScalarOpt_dtype"),
    Each("_foreach_clone(Tensor[] self, *, MemoryFormat? memory_format=None) -> Tensor[]", "clone"),
    Each("_foreach_copy(Tensor[] self, Tensor[] src, bool non_blocking=False) -> Tensor[] self_out",
         "copy"),
    Each("_foreach_zero(Tensor[] self) -> Tensor[] self_out", "zero"),
};

}  // namespace

std::span<const Row> ForeachRows() { return kRows; }

}  // namespace tpjrt::lower
