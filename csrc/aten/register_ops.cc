#include <torch/library.h>

#include <map>

#include "aten/op_kernel.h"

namespace tpjrt::aten {
namespace {

torch::Library& AtenLibrary() {
  static auto* library = new torch::Library(torch::Library::IMPL, "aten",
                                            c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
  return *library;
}

// Kernels for the glue's own calls: rows that PyTorch's dispatcher must not see as device kernels.
std::map<std::string, std::unique_ptr<OpKernel>>& OwnKernels() {
  static auto* kernels = new std::map<std::string, std::unique_ptr<OpKernel>>();
  return *kernels;
}

}  // namespace

void RegisterOps() {
  for (Binding& binding : MakeBindings()) {
    std::string name = binding.name();
    if (binding.own_use || IsCheckedFirst(name.substr(sizeof("aten::") - 1))) {
      OwnKernels()[name] = std::make_unique<OpKernel>(std::move(binding));
      continue;
    }
    auto kernel = std::make_unique<OpKernel>(std::move(binding));
    AtenLibrary().impl(name.c_str(), torch::CppFunction::makeFromBoxedFunctor(std::move(kernel)));
  }
}

void CallOwn(const std::string& name, c10::Stack* stack) {
  const auto found = OwnKernels().find(name);
  TORCH_INTERNAL_ASSERT(found != OwnKernels().end(), "no kernel of our own for ", name);
  OpKernel& kernel = *found->second;
  kernel(kernel.binding().op, c10::DispatchKeySet(), stack);
}

}  // namespace tpjrt::aten
