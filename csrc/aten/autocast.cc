// torch.autocast for the device: PyTorch's own lists of ops, under the device's key.
#include <ATen/autocast_mode.h>
#include <torch/library.h>

#include "aten/register.h"

namespace tpjrt::aten {

using namespace at;  // NOLINT: PyTorch's lists name its types without their namespace

namespace {

// As on CUDA: a float16 logarithm of a probability is no use.
Tensor RefuseBinaryCrossEntropy(const Tensor& /*input*/, const Tensor& /*target*/,
                                const std::optional<Tensor>& /*weight*/, int64_t /*reduction*/) {
  TORCH_CHECK(false,
              "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to "
              "autocast.\nUse torch.nn.functional.binary_cross_entropy_with_logits or "
              "torch.nn.BCEWithLogitsLoss, which are safe, or disable autocast for this region.");
}

}  // namespace

void RegisterAutocast() {
  static auto* any = new torch::Library(torch::Library::IMPL, "_",
                                        c10::DispatchKey::AutocastPrivateUse1, __FILE__, __LINE__);
  any->fallback(torch::CppFunction::makeFallthrough());
  static auto* library = new torch::Library(
      torch::Library::IMPL, "aten", c10::DispatchKey::AutocastPrivateUse1, __FILE__, __LINE__);
  torch::Library& m = *library;
#define TPJRT_LOWER(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define TPJRT_FP32(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define TPJRT_FP32_OUT(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
#define TPJRT_PROMOTE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)
  AT_FORALL_LOWER_PRECISION_FP(TPJRT_LOWER)
  AT_FORALL_FP32(TPJRT_FP32)
  AT_FORALL_FP32_SET_OPT_DTYPE(TPJRT_FP32_OUT)
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
  AT_FORALL_PROMOTE(TPJRT_PROMOTE)
  m.impl("binary_cross_entropy", TORCH_FN(RefuseBinaryCrossEntropy));
#undef TPJRT_LOWER
#undef TPJRT_FP32
#undef TPJRT_FP32_OUT
#undef TPJRT_PROMOTE
}

}  // namespace tpjrt::aten
