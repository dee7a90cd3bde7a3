#include "lower/sorting.h"

#include "hlo/elementwise.h"
#include "hlo/reduce.h"
#include "lower/reducing.h"

namespace tpjrt::lower {
namespace {

// a before b, ascending: NaN last.
Value Before(Value a, Value b) {
  if (!IsFloat(a.dtype())) return hlo::Lt(a, b);
  return hlo::Or(hlo::Lt(a, b), hlo::And(hlo::IsNan(b), hlo::Not(hlo::IsNan(a))));
}

std::vector<Value> Ascending(hlo::Builder&, std::span<const Value> pairs) {
  return {Before(pairs[0], pairs[1])};
}
std::vector<Value> Descending(hlo::Builder&, std::span<const Value> pairs) {
  return {Before(pairs[1], pairs[0])};
}

}  // namespace

Sorted SortAlong(Value x, int64_t dim, bool descending) {
  if (x.rank() == 0) return {x, hlo::Constant(x.builder(), DType::kI32, 0)};
  Value positions = Positions(x, dim);
  if (x.num_elements() == 0) return {x, positions};
  const bool is_bool = x.dtype() == DType::kBool;
  const std::vector<Value> operands = {is_bool ? hlo::Convert(x, DType::kU8) : x, positions};
  const hlo::Region less = descending ? hlo::Region(Descending) : hlo::Region(Ascending);
  std::vector<Value> sorted = hlo::Sort(operands, dim, /*stable=*/true, less);
  return {hlo::Convert(sorted[0], x.dtype()), sorted[1]};
}

}  // namespace tpjrt::lower
