#include "lower/value_fault.h"

#include "hlo/elementwise.h"
#include "hlo/reduce.h"
#include "hlo/shape.h"

namespace tpjrt::lower {

void ReportValues(Value bad, ValueFault fault) {
  hlo::Builder& b = bad.builder();
  if (bad.num_elements() == 0) return;
  const Value any = hlo::ReduceOr(hlo::Flatten(bad), {0});
  const Value code = hlo::ConstantInt(b, DType::kI64, static_cast<int64_t>(fault));
  const Value zero = hlo::ZerosLike(code);
  const Value parts[] = {zero, hlo::Select(any, code, zero)};
  b.AddFault(hlo::Stack(parts, 0));
}

}  // namespace tpjrt::lower
