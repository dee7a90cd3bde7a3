#include "lower/unfold.h"

#include "hlo/elementwise.h"
#include "hlo/index.h"
#include "hlo/shape.h"
#include "lower/linear_map.h"

namespace tpjrt::lower {
namespace {

// One spatial dim of a sliding window.
struct Slide {
  int64_t size, kernel, dilation, padding, stride;

  int64_t count() const { return (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1; }
};

// Element (tap, window) of the flattened [kernel, count] table reads its source; none in the
// padding.
LinearMap WindowMap(const Slide& s) {
  LinearMap map;
  map.inputs = s.size;
  for (int64_t tap = 0; tap < s.kernel; ++tap) {
    for (int64_t window = 0; window < s.count(); ++window) {
      const int64_t source = window * s.stride - s.padding + tap * s.dilation;
      auto& row = map.rows.emplace_back();
      if (source >= 0 && source < s.size) row.push_back({source, 1.0});
    }
  }
  return map;
}

Slide SlideOf(Context& c, size_t axis, int64_t size) {
  const auto at = [&](std::string_view name) {
    const Dims list = c.Ints(name);
    return list.at(list.size() == 1 ? 0 : axis);
  };
  return {size, at("kernel_size"), at("dilation"), at("padding"), at("stride")};
}

}  // namespace

Outcome Im2Col(Context& c) {
  Value x = c.Tensor("self");
  if (x.rank() == 3) x = hlo::Unsqueeze(x, 0);
  const Slide h = SlideOf(c, 0, x.dim(2)), w = SlideOf(c, 1, x.dim(3));
  const int64_t batch = x.dim(0), channels = x.dim(1);
  x = Apply(WindowMap(w), Apply(WindowMap(h), x, 2), 3);
  x = hlo::Reshape(x, {batch, channels, h.kernel, h.count(), w.kernel, w.count()});
  return hlo::Reshape(hlo::Transpose(x, {0, 1, 2, 4, 3, 5}), c.Result().dims);
}

Outcome Col2Im(Context& c) {
  const Type out = c.Result();
  Value x = c.TensorAs("self", ComputeType(out.dtype));
  if (x.rank() == 2) x = hlo::Unsqueeze(x, 0);
  const Dims size = c.Ints("output_size");
  const Slide h = SlideOf(c, 0, size.at(0)), w = SlideOf(c, 1, size.at(1));
  const int64_t batch = x.dim(0), channels = x.dim(1) / (h.kernel * w.kernel);
  x = hlo::Reshape(x, {batch, channels, h.kernel, w.kernel, h.count(), w.count()});
  x = hlo::Reshape(hlo::Transpose(x, {0, 1, 2, 4, 3, 5}),
                   {batch, channels, h.kernel * h.count(), w.kernel * w.count()});
  x = Apply(Transposed(WindowMap(h)), Apply(Transposed(WindowMap(w)), x, 3), 2);
  return hlo::Convert(hlo::Reshape(x, out.dims), out.dtype);
}

Outcome UnfoldBackward(Context& c) {
  const Type out = c.Result();
  Value grad = c.TensorAs("grad_in", ComputeType(out.dtype));
  const int64_t rank = static_cast<int64_t>(out.dims.size());
  const int64_t dim = Context::WrapDim(c.Int("dim"), rank);
  if (rank == 0) return hlo::Convert(hlo::Reshape(grad, {}), out.dtype);
  const Slide slide{out.dims[static_cast<size_t>(dim)], c.Int("size"), 1, 0, c.Int("step")};
  // The taps are the last dim: bring them before the windows.
  Dims permutation;
  for (int64_t d = 0; d < rank; ++d) {
    if (d == dim) permutation.push_back(rank);
    permutation.push_back(d);
  }
  Dims merged = out.dims;
  merged[static_cast<size_t>(dim)] = slide.kernel * slide.count();
  grad = hlo::Reshape(hlo::Transpose(grad, permutation), merged);
  return hlo::Convert(Apply(Transposed(WindowMap(slide)), grad, dim), out.dtype);
}

}  // namespace tpjrt::lower
