#include "lower/grid_sample.h"

#include "hlo/elementwise.h"
#include "hlo/index.h"
#include "hlo/reduce.h"
#include "hlo/shape.h"

namespace tpjrt::lower {
namespace {

enum Interpolation { kBilinear = 0, kNearest = 1 };
enum Padding { kZeros = 0, kBorder = 1, kReflection = 2 };

// A position along one spatial dim, in pixels, and its derivative by the grid's number.
struct Coordinate {
  Value position, slope;
};

Coordinate Clip(Coordinate c, int64_t size) {
  Value low = hlo::ZerosLike(c.position);
  Value high = hlo::ConstantLike(c.position, static_cast<double>(size - 1));
  Value inside = hlo::And(hlo::Gt(c.position, low), hlo::Lt(c.position, high));
  return {hlo::Min(hlo::Max(c.position, low), high), hlo::Select(inside, c.slope, low)};
}

// Mirrors at twice_low / 2 and twice_high / 2.
Coordinate Reflect(Coordinate c, int64_t twice_low, int64_t twice_high) {
  if (twice_low == twice_high) return {hlo::ZerosLike(c.position), hlo::ZerosLike(c.slope)};
  const double low = static_cast<double>(twice_low) / 2;
  const double span = static_cast<double>(twice_high - twice_low) / 2;
  Value from_low = c.position - low;
  Value below = hlo::Lt(from_low, 0.0);
  Value distance = hlo::Abs(from_low);
  Value extra = hlo::Rem(distance, hlo::ConstantLike(distance, span));
  Value flips = hlo::Floor(distance / span);
  Value even = hlo::Eq(hlo::Rem(flips, hlo::ConstantLike(flips, 2)), 0.0);
  Value slope =
      hlo::Select(hlo::Eq(hlo::Convert(below, DType::kI32), hlo::Convert(even, DType::kI32)),
                  -c.slope, c.slope);
  return {hlo::Select(even, extra + low, span - extra + low), slope};
}

Coordinate CoordinateOf(Value grid, int64_t size, int64_t padding, bool align_corners) {
  const double n = static_cast<double>(size);
  Coordinate c =
      align_corners ? Coordinate{(grid + 1.0) * 0.5 * (n - 1), hlo::ConstantLike(grid, (n - 1) / 2)}
                    : Coordinate{((grid + 1.0) * n - 1.0) * 0.5, hlo::ConstantLike(grid, n / 2)};
  if (padding == kReflection) {
    c = align_corners ? Reflect(c, 0, 2 * (size - 1)) : Reflect(c, -1, 2 * size - 1);
  }
  return padding == kZeros ? c : Clip(c, size);
}

// One pixel that an output reads: where, and the product of its weights.
struct Corner {
  Value start;                // i32 [N, out..., 1 + spatial]: batch and position, 0 where outside
  Value dropped;              // the same, outside the image where it is outside
  Value valid;                // bool [N, out...]
  Value weight;               // [N, out...]
  std::vector<Value> slopes;  // d weight / d grid, per spatial dim
};

// `far`: per spatial dim, whether the corner is the one above the position.
Corner CornerAt(const std::vector<Coordinate>& at, const Dims& sizes, unsigned far, bool nearest) {
  const Value like = at[0].position;
  hlo::Builder& b = like.builder();
  Corner corner;
  std::vector<Value> starts = {hlo::Iota(b, DType::kI32, like.dims(), 0)}, drops = starts;
  std::vector<Value> weights, signs, pixels;
  corner.weight = hlo::ConstantLike(like, 1);
  corner.valid = hlo::ConstantInt(b, DType::kBool, 1, like.dims());
  for (size_t s = 0; s < at.size(); ++s) {
    const bool above = (far >> s & 1) != 0;
    Value base = nearest ? hlo::RoundEven(at[s].position) : hlo::Floor(at[s].position);
    Value fraction = at[s].position - base;
    Value pixel = above ? base + 1.0 : base;
    weights.push_back(nearest ? hlo::ConstantLike(like, 1) : above ? fraction : 1.0 - fraction);
    signs.push_back(nearest ? hlo::ZerosLike(like) : above ? at[s].slope : -at[s].slope);
    Value inside = hlo::And(hlo::Ge(pixel, 0.0), hlo::Lt(pixel, static_cast<double>(sizes[s])));
    corner.valid = hlo::And(corner.valid, inside);
    corner.weight = corner.weight * weights.back();
    pixels.push_back(hlo::Select(inside, pixel, hlo::ZerosLike(pixel)));
  }
  for (size_t s = 0; s < at.size(); ++s) {
    Value pixel = hlo::Convert(pixels[s], DType::kI32);
    starts.push_back(pixel);
    drops.push_back(
        hlo::Select(corner.valid, pixel, hlo::ConstantLike(pixel, static_cast<double>(sizes[s]))));
    Value slope = signs[s];
    for (size_t other = 0; other < at.size(); ++other) {
      if (other != s) slope = slope * weights[other];
    }
    corner.slopes.push_back(slope);
  }
  corner.start = hlo::Stack(starts, like.rank());
  corner.dropped = hlo::Stack(drops, like.rank());
  return corner;
}

// image: [N, C, in...]; out_dims: [N, out...].
struct Problem {
  Value image;
  Dims sizes;
  std::vector<Corner> corners;
  Dims collapsed;  // batch and spatial dims of the image

  int64_t spatial() const { return std::ssize(sizes); }
};

Problem Read(Context& c, DType compute) {
  Problem p;
  p.image = c.TensorAs("input", compute);
  Value grid = c.TensorAs("grid", compute);
  p.sizes = Dims(p.image.dims().begin() + 2, p.image.dims().end());
  const int64_t last = grid.rank() - 1, spatial = p.spatial();
  std::vector<Coordinate> at;
  p.collapsed = {0};
  for (int64_t s = 0; s < spatial; ++s) {
    p.collapsed.push_back(s + 2);
    // The grid's numbers go from the last spatial dim to the first.
    Value g = hlo::Squeeze(hlo::SliceDim(grid, last, spatial - 1 - s, spatial - s), last);
    at.push_back(CoordinateOf(g, p.sizes[static_cast<size_t>(s)], c.Int("padding_mode"),
                              c.Bool("align_corners")));
  }
  const bool nearest = c.Int("interpolation_mode") == kNearest;
  const unsigned corners = nearest ? 1 : 1U << spatial;
  for (unsigned far = 0; far < corners; ++far) {
    p.corners.push_back(CornerAt(at, p.sizes, far, nearest));
  }
  return p;
}

Dims BatchMapping(int64_t rank) {
  Dims mapping;
  for (int64_t d = 0; d < rank; ++d) mapping.push_back(d);
  return mapping;
}

Value PerChannel(Value x, int64_t channels) {
  Dims dims = x.dims();
  dims.push_back(channels);
  return hlo::BroadcastInDim(x, dims, BatchMapping(x.rank()));
}

// The image at a corner, [N, out..., C]; 0 outside.
Value ReadCorner(const Problem& p, const Corner& corner) {
  const int64_t rank = corner.valid.rank();
  Dims slice(static_cast<size_t>(p.image.rank()), 1);
  slice[1] = p.image.dim(1);
  hlo::GatherDims dims{{rank}, p.collapsed, p.collapsed, rank};
  Value read = hlo::Gather(p.image, corner.start, dims, slice);
  return hlo::Select(PerChannel(corner.valid, p.image.dim(1)), read, hlo::ZerosLike(read));
}

bool Supported(Context& c) {
  return c.Int("interpolation_mode") <= kNearest &&
         hlo::NumElements(c.TensorType("input").dims) > 0;
}

const Unsupported kCubic{"bicubic grid sampling, or of an empty image"};

}  // namespace

Outcome GridSample(Context& c) {
  if (!Supported(c)) return kCubic;
  const Type out = c.Result();
  const Problem p = Read(c, ComputeType(out.dtype));
  Value sum;
  for (const Corner& corner : p.corners) {
    Value part = ReadCorner(p, corner) * PerChannel(corner.weight, p.image.dim(1));
    sum = sum.valid() ? sum + part : part;
  }
  Dims permutation = {0, sum.rank() - 1};
  for (int64_t d = 1; d < sum.rank() - 1; ++d) permutation.push_back(d);
  return hlo::Convert(hlo::Transpose(sum, permutation), out.dtype);
}

Outcome GridSampleBackward(Context& c) {
  if (!Supported(c)) return kCubic;
  const DType dtype = c.TensorType("input").dtype;
  const Problem p = Read(c, ComputeType(dtype));
  const std::vector<bool> wanted = c.Bools("output_mask");
  Value grad = c.TensorAs("grad_output", p.image.dtype());
  Dims permutation = {0};
  for (int64_t d = 2; d < grad.rank(); ++d) permutation.push_back(d);
  permutation.push_back(1);
  grad = hlo::Transpose(grad, permutation);
  const int64_t channel_dim = grad.rank() - 1, channels = grad.dim(channel_dim);

  Value image = hlo::ZerosLike(p.image);
  std::vector<Value> slopes(static_cast<size_t>(p.spatial()));
  for (const Corner& corner : p.corners) {
    if (wanted.at(0)) {
      Value share = grad * PerChannel(corner.weight, channels);
      image = hlo::Scatter(image, corner.dropped, share,
                           {{channel_dim}, p.collapsed, p.collapsed, channel_dim},
                           hlo::ScatterBody(hlo::ScatterKind::kAdd));
    }
    if (!wanted.at(1)) continue;
    Value inner = hlo::ReduceSum(grad * ReadCorner(p, corner), {channel_dim});
    for (size_t s = 0; s < slopes.size(); ++s) {
      Value part = inner * corner.slopes[s];
      slopes[s] = slopes[s].valid() ? slopes[s] + part : part;
    }
  }
  std::vector<Value> results(2);
  if (wanted.at(0)) results[0] = hlo::Convert(image, dtype);
  if (wanted.at(1)) {
    std::vector<Value> reversed(slopes.rbegin(), slopes.rend());
    results[1] = hlo::Convert(hlo::Stack(reversed, channel_dim), c.TensorType("grid").dtype);
  }
  return results;
}

}  // namespace tpjrt::lower
