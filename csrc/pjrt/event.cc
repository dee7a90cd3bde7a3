#include "pjrt/event.h"

#include "pjrt/call.h"
#include "pjrt/fork.h"

namespace tpjrt::pjrt {

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

}  // namespace tpjrt::pjrt
