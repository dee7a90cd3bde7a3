// Lets scaled_dot_product_attention take the fused row instead of twenty small ops.
#include <ATen/ATen.h>
#include <ATen/SDPBackend.h>
#include <torch/library.h>

#include "aten/register.h"

namespace tpjrt::aten {
namespace {

// What the fused row serves; everything else goes PyTorch's math path.
bool FusedServes(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                 const std::optional<at::Tensor>& mask, double dropout_p) {
  if (dropout_p > 0.0 || query.dim() != 4 || key.dim() != 4 || value.dim() != 4) return false;
  if (query.numel() == 0 || key.numel() == 0 || value.numel() == 0) return false;
  if (!at::isFloatingType(query.scalar_type()) || query.scalar_type() != key.scalar_type() ||
      query.scalar_type() != value.scalar_type()) {
    return false;
  }
  return !mask || !mask->defined() || mask->dim() <= 4;
}

int64_t ChooseAttention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                        const std::optional<at::Tensor>& mask, double dropout_p, bool /*is_causal*/,
                        std::optional<double> /*scale*/, bool enable_gqa) {
  const bool heads_fit = query.dim() != 4 || query.size(1) == key.size(1) ||
                         (enable_gqa && query.size(1) % key.size(1) == 0);
  const bool fused = FusedServes(query, key, value, mask, dropout_p) && heads_fit;
  return static_cast<int64_t>(fused ? at::SDPBackend::overrideable : at::SDPBackend::math);
}

}  // namespace

void RegisterAttention() {
  static auto* library = new torch::Library(torch::Library::IMPL, "aten",
                                            c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
  library->impl("_fused_sdp_choice", TORCH_FN(ChooseAttention));
}

}  // namespace tpjrt::aten
