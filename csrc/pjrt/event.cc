#include "pjrt/event.h"

#include <memory>

#include "pjrt/call.h"
#include "pjrt/fork.h"

namespace tpjrt::pjrt {
namespace {

struct Waiter {
  const PJRT_Api* api;
  std::function<void(const Error*)> callback;
};

void Finished(PJRT_Error* error, void* argument) {
  const std::unique_ptr<Waiter> waiter(static_cast<Waiter*>(argument));
  if (error == nullptr) return waiter->callback(nullptr);
  const Error taken = TakeError(waiter->api, error, "PJRT_Event_OnReady");
  waiter->callback(&taken);
}

}  // namespace

Event& Event::operator=(Event&& other) noexcept {
  if (this != &other) {
    Destroy();
    api_ = other.api_;
    event_ = std::exchange(other.event_, nullptr);
  }
  return *this;
}

Event::~Event() { Destroy(); }

void Event::Destroy() noexcept {
  if (event_ == nullptr || InForkedChild()) return;
  auto args = TPJRT_ARGS(PJRT_Event_Destroy);
  args.event = std::exchange(event_, nullptr);
  TPJRT_TRY_CALL(api_, PJRT_Event_Destroy, args);
}

bool Event::IsReady() const {
  if (event_ == nullptr) return true;
  auto args = TPJRT_ARGS(PJRT_Event_IsReady);
  args.event = event_;
  TPJRT_CALL(api_, PJRT_Event_IsReady, args);
  return args.is_ready;
}

void Event::Await() const {
  if (event_ == nullptr) return;
  auto args = TPJRT_ARGS(PJRT_Event_Await);
  args.event = event_;
  TPJRT_CALL(api_, PJRT_Event_Await, args);
}

void Event::OnReady(std::function<void(const Error*)> callback) const {
  if (event_ == nullptr) return callback(nullptr);
  auto waiter = std::make_unique<Waiter>(Waiter{api_, std::move(callback)});
  auto args = TPJRT_ARGS(PJRT_Event_OnReady);
  args.event = event_;
  args.callback = &Finished;
  args.user_arg = waiter.get();
  TPJRT_CALL(api_, PJRT_Event_OnReady, args);
  waiter.release();  // NOLINT: Finished owns it
}

}  // namespace tpjrt::pjrt
