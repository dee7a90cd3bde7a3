// Fused scaled dot-product attention. Scores and softmax are float32 (float64 for float64 inputs);
// the probabilities are rounded to the inputs' type before they meet the values. A row with every
// key masked gives zeros, as PyTorch's math path does. Grouped queries share a key head without
// copies: [B, Hk * R, L, E] queries are read as [B, Hk, R * L, E].
#include <cmath>
#include <limits>

#include "hlo/elementwise.h"
#include "hlo/reduce.h"
#include "hlo/shape.h"
#include "lower/contraction.h"
#include "lower/families.h"

namespace tpjrt::lower {
namespace {

const hlo::DotDims kRowsByRows{{0, 1}, {0, 1}, {3}, {3}};        // x yᵀ
const hlo::DotDims kRowsByColumns{{0, 1}, {0, 1}, {3}, {2}};     // x y
const hlo::DotDims kColumnsByColumns{{0, 1}, {0, 1}, {2}, {2}};  // xᵀ y

struct Attention {
  Value query, key, value;  // query: [B, Hk, R * L, E]
  DType compute;
  Dims query_dims;   // [B, H, L, E]
  Dims scores_dims;  // [B, H, L, S]
  Dims merged;       // scores as [B, Hk, R * L, S]
  Value scale;       // rank 0

  // [B, H, L, X] as [B, Hk, R * L, X].
  Value Merge(Value x) const {
    return hlo::Reshape(x, {merged[0], merged[1], merged[2], x.dim(-1)});
  }
  Value Split(Value x) const {
    return hlo::Reshape(x, {query_dims[0], query_dims[1], query_dims[2], x.dim(-1)});
  }
};

Attention Read(Context& c) {
  Attention a;
  a.query = c.Tensor("query");
  a.key = c.Tensor("key");
  a.value = c.Tensor("value");
  a.compute = ComputeType(a.query.dtype());
  a.query_dims = a.query.dims();
  const int64_t heads = a.query.dim(1), key_heads = a.key.dim(1);
  const int64_t length = a.query.dim(2), keys = a.key.dim(2);
  a.scores_dims = {a.query.dim(0), heads, length, keys};
  a.merged = {a.query.dim(0), key_heads, heads / key_heads * length, keys};
  a.query = a.Merge(a.query);
  a.scale = c.Has("scale") ? c.Scalar("scale", a.compute)
                           : hlo::Constant(c.builder(), a.compute,
                                           1.0 / std::sqrt(static_cast<double>(a.query_dims[3])));
  return a;
}

Value Scaled(const Attention& a, Value x) { return x * hlo::BroadcastInDim(a.scale, x.dims(), {}); }

Value RowWise(Value row, Value like) { return hlo::BroadcastInDim(row, like.dims(), {0, 1, 2}); }

// Scores with bias and mask, [B, H, L, S] merged.
Value Scores(Context& c, const Attention& a) {
  hlo::Builder& b = c.builder();
  Value scores = Scaled(a, Contract(a.query, a.key, kRowsByRows));
  const double lowest = -std::numeric_limits<double>::infinity();
  if (c.Has("attn_bias")) {
    Value bias = hlo::BroadcastTo(c.TensorAs("attn_bias", a.compute), a.scores_dims);
    scores = scores + a.Merge(bias);
  }
  if (c.Bool("is_causal")) {
    const Dims square = {a.scores_dims[2], a.scores_dims[3]};
    Value kept =
        hlo::Ge(hlo::Iota(b, DType::kI32, square, 0), hlo::Iota(b, DType::kI32, square, 1));
    kept = a.Merge(hlo::BroadcastInDim(kept, a.scores_dims, {2, 3}));
    scores = hlo::Select(kept, scores, hlo::ConstantLike(scores, lowest));
  }
  return scores;
}

struct Softmax {
  Value probabilities;
  Value log_sum;  // log of the sum of exp(scores), per row
};

Softmax SoftmaxOf(Value scores) {
  const double lowest = -std::numeric_limits<double>::infinity();
  Value peak = hlo::ReduceMax(scores, {3});
  Value masked = hlo::Eq(peak, lowest);
  Value shift = hlo::Select(masked, hlo::ZerosLike(peak), peak);
  Value weights = hlo::Exp(scores - RowWise(shift, scores));
  Value sum = hlo::ReduceSum(weights, {3});
  Value divisor = hlo::Select(masked, hlo::ConstantLike(sum, 1), sum);
  return {weights / RowWise(divisor, weights), shift + hlo::Log(sum)};
}

const Unsupported kDropout{"dropout inside fused attention"};

Outcome FusedAttention(Context& c) {
  if (c.StaticDouble("dropout_p") > 0) return kDropout;
  const Type out = c.Result();
  if (hlo::NumElements(out.dims) == 0 || c.TensorType("key").dims.at(2) == 0) {
    return Unsupported{"attention over nothing"};
  }
  const Attention a = Read(c);
  const Softmax softmax = SoftmaxOf(Scores(c, a));
  Value probabilities = hlo::Convert(softmax.probabilities, a.value.dtype());
  Value y = Contract(probabilities, a.value, kRowsByColumns);
  Value log_sum = hlo::Reshape(softmax.log_sum, {out.dims[0], out.dims[1], out.dims[2]});
  // The rest (cumulative lengths, sizes, random state, debug mask) is None or known to the caller.
  std::vector<Value> results(9);
  results[0] = hlo::Convert(a.Split(y), out.dtype);
  results[1] = hlo::Convert(log_sum, DType::kF32);
  return results;
}

// grad summed over the dims that broadcasting added to `dims`.
Value SumTo(Value grad, const Dims& dims) {
  const int64_t added = grad.rank() - static_cast<int64_t>(dims.size());
  Dims reduced;
  for (int64_t d = 0; d < grad.rank(); ++d) {
    if (d < added || (dims[static_cast<size_t>(d - added)] == 1 && grad.dim(d) != 1)) {
      reduced.push_back(d);
    }
  }
  return hlo::Reshape(hlo::ReduceSum(grad, reduced), dims);
}

Outcome FusedAttentionBackward(Context& c) {
  if (c.StaticDouble("dropout_p") > 0) return kDropout;
  const Attention a = Read(c);
  const DType dtype = a.key.dtype();
  const std::vector<bool> wanted = c.Bools("grad_input_mask");
  // The scores are recomputed, not rebuilt from logsumexp: that is float32 whatever the inputs are.
  Value probabilities = SoftmaxOf(Scores(c, a)).probabilities;
  Value grad = a.Merge(c.TensorAs("grad_out", dtype));
  Value out = a.Merge(c.TensorAs("out", a.compute));
  Value inner = hlo::ReduceSum(hlo::Convert(grad, a.compute) * out, {3});
  Value grad_probabilities = Contract(grad, a.value, kRowsByRows);
  Value grad_scores = probabilities * (grad_probabilities - RowWise(inner, grad_probabilities));
  Value rounded = hlo::Convert(grad_scores, dtype);

  std::vector<Value> results(4);
  if (wanted.at(0)) {
    results[0] = a.Split(Scaled(a, Contract(rounded, a.key, kRowsByColumns)));
  }
  if (wanted.at(1)) {
    results[1] = Scaled(a, Contract(rounded, a.query, kColumnsByColumns));
  }
  if (wanted.at(2)) {
    results[2] = Contract(hlo::Convert(probabilities, dtype), grad, kColumnsByColumns);
  }
  if (wanted.at(3) && c.Has("attn_bias")) {
    results[3] = SumTo(hlo::Reshape(grad_scores, a.scores_dims), c.TensorType("attn_bias").dims);
  }
  for (Value& result : results) {
    if (result.valid()) result = hlo::Convert(result, dtype);
  }
  return results;
}

constexpr Traits kStaticDropout{.static_scalars = "dropout_p"};

const Row kRows[] = {
    {"_scaled_dot_product_fused_attention_overrideable(Tensor query, Tensor key, Tensor value, "
     "Tensor? attn_bias=None, float dropout_p=0., bool is_causal=False, bool "
     "return_debug_mask=False, *, float? scale=None) -> (Tensor output, Tensor logsumexp, Tensor "
     "cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor philox_seed, Tensor "
     "philox_offset, Tensor debug_attn_mask)",
     FusedAttention, kStaticDropout},
    {"_scaled_dot_product_fused_attention_overrideable_backward(Tensor grad_out, Tensor query, "
     "Tensor key, Tensor value, Tensor attn_bias, bool[4] grad_input_mask, Tensor out, Tensor "
     "logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, "
     "bool is_causal, Tensor philox_seed, Tensor philox_offset, *, float? scale=None) -> (Tensor "
     "grad_query, Tensor grad_key, Tensor grad_value, Tensor grad_attn_bias)",
     FusedAttentionBackward, kStaticDropout},
};

}  // namespace

std::span<const Row> AttentionRows() { return kRows; }

}  // namespace tpjrt::lower
