#include "aten/generator.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <c10/core/GeneratorImpl.h>

#include <atomic>
#include <deque>
#include <memory>
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

  void set_current_seed(uint64_t seed) override { *state_ = {seed, 0}; }
  void set_offset(uint64_t offset) override { state_->offset = offset; }
  uint64_t get_offset() const override { return state_->offset; }
  uint64_t current_seed() const override { return state_->seed; }
  uint64_t seed() override {
    set_current_seed(c10::detail::getNonDeterministicRandom(/*is_cuda=*/false));
    return state_->seed;
  }

  void set_state(const c10::TensorImpl& new_state) override {
    at::detail::check_rng_state(new_state);
    TORCH_CHECK(new_state.numel() == sizeof(DrawState), "RNG state has ", new_state.numel(),
                " bytes, this device's has ", sizeof(DrawState));
    std::memcpy(state_.get(), new_state.data(), sizeof(DrawState));
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    at::Tensor bytes = at::empty({sizeof(DrawState)}, at::TensorOptions().dtype(at::kByte));
    std::memcpy(bytes.mutable_data_ptr(), state_.get(), sizeof(DrawState));
    return bytes.getIntrusivePtr();
  }

  // A generator that shares this one's state, and the other way round: draws from either advance
  // both. torch.compile hands states between programs this way.
  c10::intrusive_ptr<c10::GeneratorImpl> graphsafe_get_state() const override {
    auto shared = c10::make_intrusive<CounterGenerator>(device().index());
    shared->state_ = state_;
    return shared;
  }
  void graphsafe_set_state(const c10::intrusive_ptr<c10::GeneratorImpl>& state) override {
    auto* other = dynamic_cast<CounterGenerator*>(state.get());
    TORCH_CHECK(other != nullptr && other->device() == device(),
                "graphsafe_set_state: expected a state of a generator of ", device());
    state_ = other->state_;
  }

  DrawState Reserve(uint64_t draws) {
    // Atomic: generators that share a state have a mutex each.
    return {state_->seed, std::atomic_ref(state_->offset).fetch_add(draws)};
  }

 private:
  CounterGenerator* clone_impl() const override {
    auto* copy = new CounterGenerator(device().index());
    *copy->state_ = *state_;
    return copy;
  }
  std::shared_ptr<DrawState> state_ = std::make_shared<DrawState>(
      DrawState{c10::detail::getNonDeterministicRandom(/*is_cuda=*/false), 0});
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
  TORCH_CHECK(device < 0 || impl->device().index() == device, "Expected a generator of '",
              c10::Device(kDevice, static_cast<c10::DeviceIndex>(device)), "' but found one of '",
              impl->device(), "': make it with torch.Generator(tensor.device)");
  const std::lock_guard lock(impl->mutex_);
  return impl->Reserve(draws);
}

}  // namespace tpjrt::aten
