#include "aten/generator.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <c10/core/GeneratorImpl.h>

#include <deque>
#include <mutex>

#include "aten/device.h"
#include "aten/storage.h"

namespace tpjrt::aten {
namespace {

class CounterGenerator final : public c10::GeneratorImpl {
 public:
  explicit CounterGenerator(int device)
      : GeneratorImpl(c10::Device(kDevice, static_cast<c10::DeviceIndex>(device)),
                      c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)) {}

  void set_current_seed(uint64_t seed) override { state_ = {seed, 0}; }
  void set_offset(uint64_t offset) override { state_.offset = offset; }
  uint64_t get_offset() const override { return state_.offset; }
  uint64_t current_seed() const override { return state_.seed; }
  uint64_t seed() override {
    set_current_seed(c10::detail::getNonDeterministicRandom(/*is_cuda=*/false));
    return state_.seed;
  }

  void set_state(const c10::TensorImpl& new_state) override {
    at::detail::check_rng_state(new_state);
    TORCH_CHECK(new_state.numel() == sizeof(DrawState), "RNG state has ", new_state.numel(),
                " bytes, this device's has ", sizeof(DrawState));
    std::memcpy(&state_, new_state.data(), sizeof(DrawState));
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    at::Tensor bytes = at::empty({sizeof(DrawState)}, at::TensorOptions().dtype(at::kByte));
    std::memcpy(bytes.mutable_data_ptr(), &state_, sizeof(DrawState));
    return bytes.getIntrusivePtr();
  }

  DrawState Reserve(uint64_t draws) {
    const DrawState start = state_;
    state_.offset += draws;
    return start;
  }

 private:
  CounterGenerator* clone_impl() const override {
    auto* copy = new CounterGenerator(device().index());
    copy->state_ = state_;
    return copy;
  }
  DrawState state_{c10::detail::getNonDeterministicRandom(/*is_cuda=*/false), 0};
};

}  // namespace

const at::Generator& DefaultGenerator(int device) {
  static auto* mutex = new std::mutex();
  static auto* generators = new std::deque<at::Generator>();
  const int index = CheckedDevice(device);
  const std::lock_guard lock(*mutex);
  while (generators->size() <= static_cast<size_t>(index)) {
    generators->push_back(NewGenerator(static_cast<int>(generators->size())));
    generators->back().set_current_seed(c10::default_rng_seed_val);
  }
  return (*generators)[static_cast<size_t>(index)];
}

at::Generator NewGenerator(int device) {
  auto generator = at::make_generator<CounterGenerator>(CheckedDevice(device));
  generator.set_current_seed(c10::default_rng_seed_val);
  return generator;
}

DrawState ReserveDraws(const std::optional<at::Generator>& generator, int device, uint64_t draws) {
  const bool given = generator.has_value() && generator->defined();
  const at::Generator& chosen = given ? *generator : DefaultGenerator(device);
  auto* impl = dynamic_cast<CounterGenerator*>(chosen.unsafeGetGeneratorImpl());
  TORCH_CHECK(impl != nullptr, "Expected a '", c10::DeviceTypeName(kDevice, true),
              "' device type for generator but found '", chosen.device().type(), "'");
  const std::lock_guard lock(impl->mutex_);
  return impl->Reserve(draws);
}

}  // namespace tpjrt::aten
