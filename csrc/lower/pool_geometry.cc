#include "lower/pool_geometry.h"

namespace tpjrt::lower {

Dims SpatialList(Context& c, std::string_view name, int64_t spatial, const Dims& fallback) {
  Dims list = c.Has(name) ? c.Ints(name) : Dims{};
  if (list.empty()) return fallback;
  if (list.size() == 1) list.resize(static_cast<size_t>(spatial), list[0]);
  return list;
}

int64_t AdaptiveStart(int64_t o, int64_t inputs, int64_t outputs) { return o * inputs / outputs; }

int64_t AdaptiveEnd(int64_t o, int64_t inputs, int64_t outputs) {
  return ((o + 1) * inputs + outputs - 1) / outputs;
}

}  // namespace tpjrt::lower
