// A PJRT event: move-only, destroyed without throwing. An event that was never created (empty) is
// ready.
#pragma once

#include <pjrt_c_api.h>

#include <functional>
#include <utility>

#include "base/error.h"

namespace tpjrt::pjrt {

class Event {
 public:
  Event() = default;
  Event(const PJRT_Api* api, PJRT_Event* event) : api_(api), event_(event) {}
  Event(Event&& other) noexcept : api_(other.api_), event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept;
  ~Event();

  bool empty() const { return event_ == nullptr; }
  bool IsReady() const;
  // Blocks until done; throws the event's error. Releases no lock: call without the GIL.
  void Await() const;
  // Calls back once the event is done, with its error or nullptr: at once in this thread, or later
  // in one of the plugin's. The callback must not throw, call the plugin, or take a lock (or the
  // GIL) that anyone holds while calling it. The event may be destroyed before.
  void OnReady(std::function<void(const Error*)> callback) const;

 private:
  void Destroy() noexcept;
  const PJRT_Api* api_ = nullptr;
  PJRT_Event* event_ = nullptr;
};

}  // namespace tpjrt::pjrt
