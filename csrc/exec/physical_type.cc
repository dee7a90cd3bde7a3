#include "exec/physical_type.h"

#include "ir/key.h"

namespace tpjrt::exec {

const PhysicalType* InternType(DType dtype, std::span<const int64_t> dims) {
  static auto* types = new ir::KeyMap<PhysicalType>();
  ir::KeyBuilder key;
  key.Add(static_cast<uint64_t>(dtype));
  for (int64_t dim : dims) key.AddSigned(dim);
  if (const PhysicalType* found = types->Find(key.words())) return found;
  auto type = std::make_unique<PhysicalType>();
  type->dtype = dtype;
  type->dims.assign(dims.begin(), dims.end());
  type->num_elements = hlo::NumElements(type->dims);
  type->nbytes = type->num_elements * static_cast<int64_t>(ItemSize(dtype));
  return types->Insert(key.words(), std::move(type));
}

}  // namespace tpjrt::exec
