#include "hlo/value.h"

#include "base/error.h"
#include "hlo/builder.h"

namespace tpjrt::hlo {

const Type& Value::type() const {
  Check(valid(), "an empty value has no type");
  return builder_->TypeOf(id_);
}

int64_t Value::dim(int64_t i) const {
  const int64_t index = i < 0 ? i + rank() : i;
  Require(index >= 0 && index < rank(), "dim ", i, " of ", ToString(type()));
  return dims()[static_cast<size_t>(index)];
}

}  // namespace tpjrt::hlo
