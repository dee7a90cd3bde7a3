#include "hlo/elementwise.h"
#include "hlo/index.h"
#include "hlo/reduce.h"
#include "hlo/shape.h"
#include "lower/max_pooling.h"
#include "lower/pool_geometry.h"

namespace tpjrt::lower {
namespace {

// The first element of each window along one dim, i32 [planes, outputs], from one sample per plane.
Value WindowStarts(Value sample, int64_t inputs, int64_t outputs, int64_t size) {
  hlo::Builder& b = sample.builder();
  const Dims dims = {sample.dim(0), outputs};
  Value last = hlo::ConstantInt(b, DType::kI32, inputs - size, dims);
  if (outputs == 1) return last;
  const double step =
      static_cast<double>(static_cast<float>(inputs - size) / static_cast<float>(outputs - 1));
  Value u = hlo::BroadcastInDim(sample, dims, {0});
  Value window = hlo::Iota(b, DType::kI32, dims, 1);
  Value at = hlo::Convert((hlo::Convert(window, u.dtype()) + u) * step, DType::kI32);
  Value start = at - hlo::Convert(u * step, DType::kI32);
  return hlo::Select(hlo::Eq(window, static_cast<double>(outputs - 1)), last, start);
}

// Which sample belongs to a spatial dim: in 2-d they are stored from the last dim to the first.
int64_t SampleOf(int spatial, int axis) { return spatial == 2 ? 1 - axis : axis; }

}  // namespace

template <int spatial>
Outcome FractionalMaxPool(Context& c) {
  Value x = c.Tensor("self");
  const Type out = c.Result();
  if (x.num_elements() == 0 || hlo::NumElements(out.dims) == 0) {
    return Unsupported{"pooling of nothing"};
  }
  const Dims kernel = SpatialList(c, "kernel_size", spatial, {});
  const Dims inputs(x.dims().end() - spatial, x.dims().end());
  const Dims outputs(out.dims.end() - spatial, out.dims.end());
  const int64_t plane = hlo::NumElements(inputs), planes = x.num_elements() / plane;
  Value samples = hlo::Reshape(c.TensorAs("random_samples", DType::kF32), {planes, spatial});

  // [planes, outputs..., kernel...]: where each window's elements are among the spatial dims.
  Dims dims = {planes};
  dims.insert(dims.end(), outputs.begin(), outputs.end());
  dims.insert(dims.end(), kernel.begin(), kernel.end());
  Value position = hlo::ConstantInt(c.builder(), DType::kI32, 0, dims);
  for (int axis = 0; axis < spatial; ++axis) {
    const size_t a = static_cast<size_t>(axis);
    const int64_t s = SampleOf(spatial, axis);
    Value sample = hlo::Squeeze(hlo::SliceDim(samples, 1, s, s + 1), 1);
    Value starts = WindowStarts(sample, inputs[a], outputs[a], kernel[a]);
    Value tap = hlo::Iota(c.builder(), DType::kI32, dims, 1 + spatial + axis);
    position = position * static_cast<double>(inputs[a]) +
               hlo::BroadcastInDim(starts, dims, {0, 1 + axis}) + tap;
  }
  Value offset = hlo::Iota(c.builder(), DType::kI64, dims, 0) * static_cast<double>(plane);
  Value flat = hlo::Convert(position, DType::kI64) + offset;
  const Value pairs[] = {hlo::Take(hlo::Flatten(x), flat), position};
  Dims taps;
  for (int axis = 0; axis < spatial; ++axis) taps.push_back(1 + spatial + axis);
  const std::vector<Value> found = hlo::Reduce(pairs, LosingPair(x), taps, LargerPair);
  return {hlo::Reshape(found[0], out.dims),
          hlo::Convert(hlo::Reshape(found[1], c.Result(1).dims), c.Result(1).dtype)};
}

template Outcome FractionalMaxPool<2>(Context&);
template Outcome FractionalMaxPool<3>(Context&);

}  // namespace tpjrt::lower
