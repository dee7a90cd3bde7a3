// PyTorch's inference-only transformer ops, composed of ops that have rows:
// nn.TransformerEncoderLayer and nn.MultiheadAttention take them in eval mode.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <cmath>

#include "aten/register.h"

namespace tpjrt::aten {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

// [B, L, E] as [B, H, L, E / H].
Tensor SplitHeads(const Tensor& x, int64_t heads) {
  return x.unflatten(-1, {heads, x.size(-1) / heads}).transpose(1, 2);
}

std::vector<Tensor> Projections(const Tensor& query, const Tensor& key, const Tensor& value,
                                const Tensor& weight, const Tensor& bias) {
  if (query.is_same(key) && key.is_same(value)) return at::linear(query, weight, bias).chunk(3, -1);
  const auto weights = weight.chunk(3, 0);
  const auto biases = bias.chunk(3, 0);
  return {at::linear(query, weights[0], biases[0]), at::linear(key, weights[1], biases[1]),
          at::linear(value, weights[2], biases[2])};
}

// Attention weights: a true mask entry leaves its key out.
Tensor Weights(const Tensor& scores, const OptionalTensor& mask, std::optional<int64_t> mask_type) {
  if (!mask || !mask->defined()) return at::softmax(scores, -1);
  return at::_masked_softmax(scores, mask->to(at::kBool), 3, mask_type);
}

std::tuple<Tensor, Tensor> MultiHeadAttention(const Tensor& query, const Tensor& key,
                                              const Tensor& value, int64_t embed_dim,
                                              int64_t num_head, const Tensor& qkv_weight,
                                              const Tensor& qkv_bias, const Tensor& proj_weight,
                                              const Tensor& proj_bias, const OptionalTensor& mask,
                                              bool need_weights, bool average_attn_weights,
                                              std::optional<int64_t> mask_type) {
  TORCH_CHECK(query.dim() == 3, "expected 3-D `query`, got ", query.dim(), "-D tensor");
  TORCH_CHECK(query.size(2) == embed_dim, "passed-in embed_dim ", embed_dim,
              " didn't match last dim of query ", query.size(2));
  TORCH_CHECK(embed_dim % num_head == 0, "embed_dim must be divisible by num_head");
  const auto parts = Projections(query, key, value, qkv_weight, qkv_bias);
  const Tensor q = SplitHeads(parts[0], num_head);
  const Tensor k = SplitHeads(parts[1], num_head);
  const Tensor v = SplitHeads(parts[2], num_head);
  const double scale =
      1.0 / std::sqrt(static_cast<double>(embed_dim) / static_cast<double>(num_head));
  const Tensor weights = Weights(at::matmul(q * scale, k.transpose(-2, -1)), mask, mask_type);
  const Tensor merged = at::matmul(weights, v).transpose(1, 2).flatten(2);
  const Tensor output = at::linear(merged, proj_weight, proj_bias);
  if (!need_weights) return {output, Tensor()};
  return {output, average_attn_weights ? weights.mean(1) : weights};
}

Tensor EncoderLayer(const Tensor& src, int64_t embed_dim, int64_t num_heads,
                    const Tensor& qkv_weight, const Tensor& qkv_bias, const Tensor& proj_weight,
                    const Tensor& proj_bias, bool use_gelu, bool norm_first, double eps,
                    const Tensor& norm_weight_1, const Tensor& norm_bias_1,
                    const Tensor& norm_weight_2, const Tensor& norm_bias_2,
                    const Tensor& ffn_weight_1, const Tensor& ffn_bias_1,
                    const Tensor& ffn_weight_2, const Tensor& ffn_bias_2,
                    const OptionalTensor& mask, std::optional<int64_t> mask_type) {
  const auto norm = [&](const Tensor& x, const Tensor& weight, const Tensor& bias) {
    return at::layer_norm(x, {embed_dim}, weight, bias, eps);
  };
  const auto attend = [&](const Tensor& x) {
    return std::get<0>(MultiHeadAttention(x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias,
                                          proj_weight, proj_bias, mask, false, true, mask_type));
  };
  const auto feed_forward = [&](const Tensor& x) {
    const Tensor hidden = at::linear(x, ffn_weight_1, ffn_bias_1);
    return at::linear(use_gelu ? at::gelu(hidden) : at::relu(hidden), ffn_weight_2, ffn_bias_2);
  };
  if (norm_first) {
    const Tensor x = src + attend(norm(src, norm_weight_1, norm_bias_1));
    return x + feed_forward(norm(x, norm_weight_2, norm_bias_2));
  }
  const Tensor x = norm(src + attend(src), norm_weight_1, norm_bias_1);
  return norm(x + feed_forward(x), norm_weight_2, norm_bias_2);
}

}  // namespace

void RegisterTransformer() {
  static auto* library = new torch::Library(torch::Library::IMPL, "aten",
                                            c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
  library->impl("_native_multi_head_attention", TORCH_FN(MultiHeadAttention));
  library->impl("_transformer_encoder_layer_fwd", TORCH_FN(EncoderLayer));
}

}  // namespace tpjrt::aten
