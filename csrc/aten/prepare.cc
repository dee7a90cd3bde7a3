#include "aten/prepare.h"

#include <ATen/ATen.h>
#include <ATen/native/DistributionTemplates.h>
#include <ATen/native/RangeUtils.h>
#include <ATen/native/Resize.h>

#include <limits>

#include "aten/call.h"
#include "aten/index_arguments.h"

namespace tpjrt::aten {
namespace {

struct Range {
  c10::Scalar start, end, step;
};

int64_t SizeOfArange(const Range& r, c10::ScalarType type) {
  return type == at::kLong ? at::native::compute_arange_size<int64_t>(r.start, r.end, r.step)
                           : at::native::compute_arange_size<double>(r.start, r.end, r.step);
}

// torch.range: the end is included.
int64_t SizeOfRange(const Range& r, c10::ScalarType type) {
  at::native::arange_check_bounds(r.start, r.end, r.step);
  if (type == at::kLong) return (r.end.toLong() - r.start.toLong()) / r.step.toLong() + 1;
  const double steps = (r.end.toDouble() - r.start.toDouble()) / r.step.toDouble();
  return static_cast<int64_t>(steps + 1);
}

// arange.start_out and range.out(start, end, step, out): the numbers say how many elements out has.
void SizeOut(const Binding& binding, c10::Stack* stack) {
  const auto arguments = torch::jit::last(*stack, 4);
  const Range range{arguments[0].toScalar(), arguments[1].toScalar(), arguments[2].toScalar()};
  const at::Tensor& out = arguments[3].toTensor();
  const bool inclusive = binding.registered->schema.name == "range";
  const int64_t size =
      inclusive ? SizeOfRange(range, out.scalar_type()) : SizeOfArange(range, out.scalar_type());
  if (out.numel() == size) return;
  if (out.numel() > 0) {
    TORCH_WARN("The number of elements in the out tensor of shape ", out.sizes(), " is ",
               out.numel(), " which does not match the computed number of elements ", size,
               ". Note that this may occur as a result of rounding error. The out tensor will be "
               "resized to a tensor of shape (",
               size, ",).");
  }
  out.resize_({size});
}

// random.to(self, to), random.from(self, from, to): PyTorch's kernels check these.
void CheckRandomBounds(const Binding& binding, c10::Stack* stack) {
  const auto arguments = torch::jit::last(*stack, binding.arguments.size());
  const at::Tensor& self = arguments[0].toTensor();
  const bool has_from = binding.arguments[1].name == "from";
  const c10::IValue& end = arguments[has_from ? 2 : 1];
  const int64_t from = has_from ? IntOf(arguments[1]) : 0;
  if (end.isNone()) return;
  const int64_t to = IntOf(end);
  TORCH_CHECK(from < to, "random_ expects 'from' to be less than 'to', but got from=", from,
              " >= to=", to);
  at::native::templates::check_from_to_in_range(from, to - 1, self.dtype());
}

// _foreach_copy(self, src): a source may be on another device.
void MoveSources(const Binding& binding, c10::Stack* stack) {
  const size_t count = binding.arguments.size();
  const std::vector<at::Tensor> self = torch::jit::peek(*stack, 0, count).toTensorVector();
  std::vector<at::Tensor> sources = torch::jit::peek(*stack, 1, count).toTensorVector();
  bool moved = false;
  for (size_t i = 0; i < self.size() && i < sources.size(); ++i) {
    if (sources[i].device() == self[i].device()) continue;
    sources[i] = sources[i].to(self[i].device());
    moved = true;
  }
  if (moved) torch::jit::peek(*stack, 1, count) = c10::IValue(sources);
}

}  // namespace

PrepareFn PrepareOf(const Binding& binding) {
  const std::string name = binding.registered->schema.FullName();
  if (binding.index_argument >= 0) return PrepareIndexArguments;
  if (name == "arange.start_out" || name == "range.out") return SizeOut;
  if (name == "random.to" || name == "random.from") return CheckRandomBounds;
  if (name == "_foreach_copy") return MoveSources;
  return nullptr;
}

}  // namespace tpjrt::aten
