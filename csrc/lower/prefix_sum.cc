#include "lower/prefix_sum.h"

#include "hlo/elementwise.h"
#include "hlo/shape.h"
#include "lower/inclusive_scan.h"

namespace tpjrt::lower {

Value PrefixSum(Value x) {
  const Combine add = [](const std::vector<Value>& left, const std::vector<Value>& right) {
    return std::vector<Value>{left[0] + right[0]};
  };
  return InclusiveScan({x}, {hlo::Constant(x.builder(), x.dtype(), 0)}, x.rank() - 1, add)[0];
}

Value ExclusivePrefixSum(Value x) {
  Dims low(static_cast<size_t>(x.rank()), 0), high = low, interior = low;
  low.back() = 1;
  high.back() = -1;
  return hlo::Pad(PrefixSum(x), hlo::Constant(x.builder(), x.dtype(), 0), low, high, interior);
}

}  // namespace tpjrt::lower
