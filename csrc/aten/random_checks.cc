// Parameters of distributions that PyTorch checks at the call: at every call, since they are
// run-time inputs of programs that are compiled once. In the words of PyTorch's CPU kernels.
#include <ATen/ATen.h>
#include <ATen/native/DistributionTemplates.h>
#include <torch/library.h>

#include "aten/op_kernel.h"
#include "aten/register.h"
#include "aten/storage.h"

namespace tpjrt::aten {
namespace {

using at::Tensor;
using OptionalGenerator = std::optional<at::Generator>;

template <typename... Arguments>
Tensor& Draw(const char* op, Tensor& self, Arguments&&... arguments) {
  c10::Stack stack{self, std::forward<Arguments>(arguments)...};
  CallOwn(op, &stack);
  return self;
}

// PyTorch's templates check, then call what they are given to draw.
struct Uniform {
  template <typename Generator>
  struct Kernel {
    void operator()(at::TensorIteratorBase& iter, double from, double to,
                    const OptionalGenerator& generator) {
      Tensor self = iter.tensor(0);
      Draw("aten::uniform_", self, from, to, generator);
    }
  };
};

Tensor& CheckedUniform(Tensor& self, double from, double to, OptionalGenerator generator) {
  return at::native::templates::uniform_impl_<Uniform::Kernel, void>(self, from, to,
                                                                     std::move(generator));
}
Tensor& CheckedNormal(Tensor& self, double mean, double std, OptionalGenerator generator) {
  TORCH_CHECK(std >= 0.0, "normal expects std >= 0.0, but found std ", std);
  return Draw("aten::normal_", self, mean, std, std::move(generator));
}
Tensor& CheckedLogNormal(Tensor& self, double mean, double std, OptionalGenerator generator) {
  TORCH_CHECK(std > 0.0, "log_normal_ expects std > 0.0, but found std=", std);
  return Draw("aten::log_normal_", self, mean, std, std::move(generator));
}
Tensor& CheckedExponential(Tensor& self, double lambda, OptionalGenerator generator) {
  TORCH_CHECK(lambda > 0.0, "exponential_ expects lambda > 0.0, but found lambda=", lambda);
  return Draw("aten::exponential_", self, lambda, std::move(generator));
}
Tensor& CheckedGeometric(Tensor& self, double p, OptionalGenerator generator) {
  TORCH_CHECK(0 < p && p < 1, "geometric_ expects p to be in (0, 1), but got p=", p);
  return Draw("aten::geometric_", self, p, std::move(generator));
}
Tensor& CheckedCauchy(Tensor& self, double median, double sigma, OptionalGenerator generator) {
  TORCH_CHECK(sigma > 0.0, "cauchy_ expects sigma > 0.0, but found sigma=", sigma);
  return Draw("aten::cauchy_", self, median, sigma, std::move(generator));
}
Tensor& CheckedBernoulli(Tensor& self, double p, OptionalGenerator generator) {
  TORCH_CHECK(0 <= p && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=", p);
  return Draw("aten::bernoulli_.float", self, p, std::move(generator));
}

}  // namespace

bool IsCheckedFirst(const std::string& name) {
  static const char* kNames[] = {"uniform_",     "normal_", "log_normal_",     "geometric_",
                                 "exponential_", "cauchy_", "bernoulli_.float"};
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](const char* known) { return name == known; });
}

void RegisterRandomChecks() {
  static auto* library = new torch::Library(torch::Library::IMPL, "aten",
                                            c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
  library->impl("uniform_", TORCH_FN(CheckedUniform));
  library->impl("normal_", TORCH_FN(CheckedNormal));
  library->impl("log_normal_", TORCH_FN(CheckedLogNormal));
  library->impl("exponential_", TORCH_FN(CheckedExponential));
  library->impl("geometric_", TORCH_FN(CheckedGeometric));
  library->impl("cauchy_", TORCH_FN(CheckedCauchy));
  library->impl("bernoulli_.float", TORCH_FN(CheckedBernoulli));
}

}  // namespace tpjrt::aten
