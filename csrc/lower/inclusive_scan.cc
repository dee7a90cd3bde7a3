#include "lower/inclusive_scan.h"

#include "hlo/elementwise.h"
#include "hlo/shape.h"

namespace tpjrt::lower {
namespace {

constexpr int64_t kBlock = 64;

using Values = std::vector<Value>;

// Pads (or, where negative, crops) one dim.
Value PadDim(Value x, Value fill, int64_t dim, int64_t low, int64_t high) {
  Dims lows(x.dims().size(), 0), highs = lows;
  lows[static_cast<size_t>(dim)] = low;
  highs[static_cast<size_t>(dim)] = high;
  return hlo::Pad(x, fill, lows, highs, Dims(x.dims().size(), 0));
}

Values Shift(const Values& xs, const Values& identities, int64_t dim, int64_t by) {
  Values shifted;
  for (size_t i = 0; i < xs.size(); ++i) {
    shifted.push_back(PadDim(xs[i], identities[i], dim, by, -by));
  }
  return shifted;
}

Values ScanByDoubling(Values xs, const Values& identities, int64_t dim, const Combine& combine) {
  const int64_t length = xs[0].dim(dim);
  for (int64_t step = 1; step < length; step *= 2) {
    xs = combine(Shift(xs, identities, dim, step), xs);
  }
  return xs;
}

// [.., n, ..] -> [.., blocks, kBlock, ..], filled up with the identity.
Value InBlocks(Value x, Value identity, int64_t dim, int64_t blocks) {
  Value padded = PadDim(x, identity, dim, 0, blocks * kBlock - x.dim(dim));
  Dims dims = padded.dims();
  dims[static_cast<size_t>(dim)] = blocks;
  dims.insert(dims.begin() + dim + 1, kBlock);
  return hlo::Reshape(padded, dims);
}

Value FromBlocks(Value x, int64_t dim, int64_t length) {
  Dims dims = x.dims();
  dims[static_cast<size_t>(dim)] *= kBlock;
  dims.erase(dims.begin() + dim + 1);
  return hlo::SliceDim(hlo::Reshape(x, dims), dim, 0, length);
}

Value Repeat(Value x, const Dims& dims, int64_t new_dim) {
  Dims mapping;
  for (int64_t i = 0; i < static_cast<int64_t>(dims.size()); ++i) {
    if (i != new_dim) mapping.push_back(i);
  }
  return hlo::BroadcastInDim(x, dims, mapping);
}

Values ScanInBlocks(const Values& xs, const Values& identities, int64_t dim,
                    const Combine& combine) {
  const int64_t length = xs[0].dim(dim);
  const int64_t blocks = (length + kBlock - 1) / kBlock;
  Values inner, totals, before;
  for (size_t i = 0; i < xs.size(); ++i) {
    inner.push_back(InBlocks(xs[i], identities[i], dim, blocks));
  }
  inner = ScanByDoubling(inner, identities, dim + 1, combine);
  for (Value x : inner) {
    totals.push_back(hlo::Squeeze(hlo::SliceDim(x, dim + 1, kBlock - 1, kBlock), dim + 1));
  }
  totals = Shift(InclusiveScan(totals, identities, dim, combine), identities, dim, 1);
  for (size_t i = 0; i < xs.size(); ++i) {
    before.push_back(Repeat(totals[i], inner[i].dims(), dim + 1));
  }
  Values result = combine(before, inner);
  for (Value& x : result) x = FromBlocks(x, dim, length);
  return result;
}

}  // namespace

std::vector<Value> InclusiveScan(const std::vector<Value>& xs, const std::vector<Value>& identities,
                                 int64_t dim, const Combine& combine) {
  if (xs[0].rank() == 0 || xs[0].num_elements() == 0) return xs;
  return xs[0].dim(dim) <= kBlock ? ScanByDoubling(xs, identities, dim, combine)
                                  : ScanInBlocks(xs, identities, dim, combine);
}

}  // namespace tpjrt::lower
