// A PJRT event: move-only, destroyed without throwing. An event that was never created (empty) is
// ready.
#pragma once

#include <pjrt_c_api.h>

#include <utility>

namespace tpjrt::pjrt {

class Event {
 public:
  Event() = default;
  Event(const PJRT_Api* api, PJRT_Event* event) : api_(api), event_(event) {}
  Event(Event&& other) noexcept : api_(other.api_), event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept;
  ~Event();

  bool IsReady() const;
  // Blocks until done; throws the event's error. Releases no lock: call without the GIL.
  void Await() const;

 private:
  void Destroy() noexcept;
  const PJRT_Api* api_ = nullptr;
  PJRT_Event* event_ = nullptr;
};

}  // namespace tpjrt::pjrt
