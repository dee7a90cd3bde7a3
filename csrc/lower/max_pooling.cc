#include "lower/max_pooling.h"

#include <algorithm>

#include "hlo/elementwise.h"
#include "hlo/index.h"
#include "hlo/reduce.h"
#include "hlo/shape.h"
#include "lower/index_support.h"
#include "lower/pool_geometry.h"

namespace tpjrt::lower {
namespace {

struct Found {
  Value values, indices;  // indices: flat position among the spatial dims, i32
};

Value SpatialPositions(Value x, int64_t spatial) {
  Dims dims(x.dims().end() - spatial, x.dims().end());
  Value flat = hlo::Iota(x.builder(), DType::kI32, {hlo::NumElements(dims)}, 0);
  Dims mapping;
  for (int64_t d = x.rank() - spatial; d < x.rank(); ++d) mapping.push_back(d);
  return hlo::BroadcastInDim(hlo::Reshape(flat, dims), x.dims(), mapping);
}

std::vector<Value> Results(Context& c, const Found& found) {
  return {hlo::Reshape(found.values, c.Result(0).dims),
          hlo::Convert(hlo::Reshape(found.indices, c.Result(1).dims), c.Result(1).dtype)};
}

// Windows start..end along `dim`, which is replaced by one element per window.
Found ReduceWindows(const Found& in, int64_t dim, int64_t outputs) {
  hlo::Builder& b = in.values.builder();
  const int64_t inputs = in.values.dim(dim);
  int64_t width = 1;
  for (int64_t o = 0; o < outputs; ++o) {
    width = std::max(width, AdaptiveEnd(o, inputs, outputs) - AdaptiveStart(o, inputs, outputs));
  }
  // Shorter windows repeat their first element: it ties with itself and changes nothing.
  std::vector<int64_t> source;
  for (int64_t o = 0; o < outputs; ++o) {
    const int64_t start = AdaptiveStart(o, inputs, outputs), end = AdaptiveEnd(o, inputs, outputs);
    for (int64_t j = 0; j < width; ++j) source.push_back(start + j < end ? start + j : start);
  }
  Value table = hlo::ConstantList(b, DType::kI32, source, {outputs, width});
  const Value inputs_list[] = {hlo::TakeDim(in.values, table, dim),
                               hlo::TakeDim(in.indices, table, dim)};
  std::vector<Value> reduced =
      hlo::Reduce(inputs_list, LosingPair(in.values), {dim + 1}, LargerPair);
  return {reduced[0], reduced[1]};
}

// values at their flat positions in the last `spatial` dims of zeros [dims].
Value PutInPlanes(Value values, Value index, const Dims& dims, int64_t spatial,
                  hlo::ScatterKind kind) {
  hlo::Builder& b = values.builder();
  if (hlo::NumElements(dims) == 0 || values.num_elements() == 0) {
    return hlo::Constant(b, values.dtype(), 0, dims);
  }
  const int64_t plane = hlo::NumElements(Dims(dims.end() - spatial, dims.end()));
  const int64_t planes = hlo::NumElements(dims) / plane;
  const Dims per_plane = {planes, values.num_elements() / planes};
  CheckedIndex checked = CheckIndex(hlo::Convert(index, DType::kI64), plane, Negative::kOutOfRange);
  Value position = hlo::Reshape(hlo::Convert(checked.index, DType::kI64), per_plane);
  position = position + hlo::Iota(b, DType::kI64, per_plane, 0) * static_cast<double>(plane);
  Value dropped = hlo::ConstantInt(b, DType::kI64, planes * plane, per_plane);
  position = hlo::Select(hlo::Reshape(checked.valid, per_plane), position, dropped);
  Value flat = hlo::Put(hlo::Constant(b, values.dtype(), 0, {planes * plane}), position,
                        hlo::Reshape(values, per_plane), kind);
  return hlo::Reshape(flat, dims);
}

}  // namespace

std::vector<Value> LargerPair(hlo::Builder&, std::span<const Value> args) {
  Value a = args[0], at = args[1], b = args[2], bt = args[3];
  Value a_nan = hlo::IsNan(a), b_nan = hlo::IsNan(b);
  Value both_nan = hlo::And(a_nan, b_nan);
  Value earlier = hlo::Lt(at, bt);
  Value tie = hlo::And(hlo::Eq(a, b), earlier);
  Value wins = hlo::Or(hlo::Or(hlo::Gt(a, b), tie), hlo::And(a_nan, hlo::Not(b_nan)));
  wins = hlo::Select(both_nan, hlo::Not(earlier), wins);
  return {hlo::Select(wins, a, b), hlo::Select(wins, at, bt)};
}

std::vector<Value> LosingPair(Value x) {
  return {hlo::LowestValue(x.builder(), x.dtype()), hlo::HighestValue(x.builder(), DType::kI32)};
}

template <int spatial>
Outcome MaxPool(Context& c) {
  Value x = c.Tensor("self");
  const Dims sizes = SpatialList(c, "kernel_size", spatial, {});
  const Dims strides = SpatialList(c, "stride", spatial, sizes);
  const Dims padding = SpatialList(c, "padding", spatial, Dims(sizes.size(), 0));
  const Dims dilation = SpatialList(c, "dilation", spatial, Dims(sizes.size(), 1));

  hlo::Window window = hlo::Window::Unit(x.rank());
  for (int i = 0; i < spatial; ++i) {
    const size_t s = static_cast<size_t>(i), d = static_cast<size_t>(x.rank() - spatial + i);
    window.sizes[d] = sizes[s];
    window.strides[d] = strides[s];
    window.window_dilations[d] = dilation[s];
    window.low[d] = padding[s];
    // What the asked output size needs (ceil_mode reaches past the padding).
    const int64_t span = (sizes[s] - 1) * dilation[s] + 1;
    window.high[d] = std::max<int64_t>(0, (c.Result().dims[d] - 1) * strides[s] + span -
                                              x.dim(static_cast<int64_t>(d)) - padding[s]);
  }
  const Value inputs[] = {x, SpatialPositions(x, spatial)};
  std::vector<Value> found = hlo::ReduceWindow(inputs, LosingPair(x), window, LargerPair);
  return Results(c, {found[0], found[1]});
}

template <int spatial>
Outcome AdaptiveMaxPool(Context& c) {
  Value x = c.Tensor("self");
  Found found{x, SpatialPositions(x, spatial)};
  if (hlo::NumElements(c.Result().dims) == 0) return Unsupported{"pooling to nothing"};
  for (int64_t d = x.rank() - spatial; d < x.rank(); ++d) {
    found = ReduceWindows(found, d, c.Result().dims[static_cast<size_t>(d)]);
  }
  return Results(c, found);
}

template <int spatial>
Outcome MaxPoolBackward(Context& c) {
  const Type out = c.TensorType("self");  // not every overload has a meta kernel
  Value grad = c.TensorAs("grad_output", ComputeType(out.dtype));
  Value sums = PutInPlanes(grad, c.Tensor("indices"), out.dims, spatial, hlo::ScatterKind::kAdd);
  return hlo::Convert(sums, out.dtype);
}

template <int spatial>
Outcome MaxUnpool(Context& c) {
  return PutInPlanes(c.Tensor("self"), c.Tensor("indices"), c.Result().dims, spatial,
                     hlo::ScatterKind::kSet);
}

template Outcome MaxPool<2>(Context&);
template Outcome MaxPool<3>(Context&);
template Outcome AdaptiveMaxPool<2>(Context&);
template Outcome AdaptiveMaxPool<3>(Context&);
template Outcome MaxPoolBackward<2>(Context&);
template Outcome MaxPoolBackward<3>(Context&);
template Outcome MaxUnpool<2>(Context&);
template Outcome MaxUnpool<3>(Context&);

}  // namespace tpjrt::lower
