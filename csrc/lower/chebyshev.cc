#include "lower/chebyshev.h"

#include <algorithm>
#include <cmath>

namespace tpjrt::lower {

hlo::Value ChebyshevSeries(hlo::Value t, std::span<const double> coefficients) {
  double largest = 0;
  for (double c : coefficients) largest = std::max(largest, std::abs(c));
  const double visible = largest * (t.dtype() == DType::kF64 ? 1e-18 : 1e-9);
  size_t count = coefficients.size();
  while (count > 1 && std::abs(coefficients[count - 1]) < visible) --count;

  const hlo::Value twice = t * 2.0;
  hlo::Value next = hlo::ZerosLike(t);
  hlo::Value after = next;
  for (size_t k = count; k-- > 1;) {
    const hlo::Value current = twice * next - after + coefficients[k];
    after = next;
    next = current;
  }
  return t * next - after + coefficients[0];
}

}  // namespace tpjrt::lower
