#include "aten/index_arguments.h"

#include <ATen/ATen.h>

namespace tpjrt::aten {
namespace {

using Indices = std::vector<std::optional<at::Tensor>>;

bool IsMask(const at::Tensor& index) {
  return index.scalar_type() == at::kBool || index.scalar_type() == at::kByte;
}

void AppendMask(const at::Tensor& self, at::Tensor mask, int64_t position, Indices* out) {
  TORCH_CHECK_INDEX(position + mask.dim() <= self.dim(),
                    "too many indices for tensor of dimension ", self.dim());
  for (int64_t i = 0; i < mask.dim(); ++i) {
    TORCH_CHECK_INDEX(mask.size(i) == self.size(position + i), "The shape of the mask ",
                      mask.sizes(), " at index ", i,
                      " does not match the shape of the indexed tensor ", self.sizes(),
                      " at index ", position + i);
  }
  const at::Tensor positions = mask.to(self.device()).nonzero();
  for (int64_t i = 0; i < mask.dim(); ++i) out->push_back(positions.select(1, i));
}

}  // namespace

void PrepareIndexArguments(const Binding& binding, c10::Stack* stack) {
  const auto at_end = static_cast<int64_t>(binding.arguments.size());
  c10::IValue& value = *(stack->end() - at_end + binding.index_argument);
  const at::Tensor self = (stack->end() - at_end)->toTensor();
  Indices indices = value.toOptionalTensorVector();
  Indices prepared;
  bool changed = false;
  for (const std::optional<at::Tensor>& index : indices) {
    const auto position = static_cast<int64_t>(prepared.size());
    if (!index || !index->defined()) {
      prepared.emplace_back();
    } else if (IsMask(*index)) {
      AppendMask(self, *index, position, &prepared);
      changed = true;
    } else if (index->device() != self.device() && index->is_cpu()) {
      prepared.emplace_back(index->to(self.device()));
      changed = true;
    } else {
      prepared.push_back(index);
    }
  }
  if (changed) value = c10::IValue(prepared);
}

}  // namespace tpjrt::aten
