// The device's random generators: a seed and an offset into its counter-based stream,
// shared by the generators that graphsafe_set_state joined.
//
// The same seed and the same draws give the same numbers on every plugin. Thread-safe through the
// generator's own mutex.
#pragma once

#include <ATen/core/Generator.h>

#include <cstdint>
#include <optional>

namespace tpjrt::aten {

struct DrawState {
  uint64_t seed = 0;
  uint64_t offset = 0;
};

// Takes `draws` numbers from a generator (the device's default one where none is given; -1 is the
// current device) and returns where they start.
DrawState ReserveDraws(const std::optional<at::Generator>& generator, int device, uint64_t draws);

const at::Generator& DefaultGenerator(int device);
at::Generator NewGenerator(int device);

}  // namespace tpjrt::aten
