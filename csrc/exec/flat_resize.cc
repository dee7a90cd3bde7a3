#include "exec/flat_resize.h"

#include <array>

#include "base/error.h"
#include "exec/execute.h"
#include "exec/runtime.h"
#include "hlo/elementwise.h"
#include "hlo/shape.h"

namespace tpjrt::exec {

BufferRef ResizeFlat(const BufferRef& buffer, const PhysicalType& from, const PhysicalType& to,
                     int device) {
  Check(from.dtype == to.dtype && to.dims.size() == 1, "a storage is resized in its own dtype");
  hlo::Builder builder;
  const hlo::Value flat = hlo::Flatten(builder.Parameter({from.dtype, from.dims}));
  hlo::Value result;
  if (to.num_elements <= from.num_elements) {
    result = hlo::SliceDim(flat, 0, 0, to.num_elements);
  } else {
    const hlo::Value zero = hlo::Constant(builder, from.dtype, 0);
    result = hlo::Pad(flat, zero, {0}, {to.num_elements - from.num_elements}, {0});
  }
  const std::string text = builder.Finish(std::array{result});
  Runtime& runtime = Runtime::Get();
  const ExecutableRef program = runtime.programs().Compile(runtime.client(), text, 1);
  std::array operands{Operand{}};
  operands[0].buffer = buffer;
  const std::array destinations{Destination{nullptr, &to}};
  std::vector<BufferRef> results;
  Execute(*program, device, operands, destinations, &results);
  return std::move(results[0]);
}

}  // namespace tpjrt::exec
