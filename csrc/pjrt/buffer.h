// A device buffer: move-only owner of a PJRT_Buffer.
//
// The logical layout is row-major in dims(). The object is immutable after construction, so
// concurrent reads need no lock; a donated buffer (see Executable) must not be used again and its
// owner only destroys it: reading while another thread donates is a race. Destruction never throws
// and may happen on any thread.
#pragma once

#include <pjrt_c_api.h>

#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "pjrt/event.h"

namespace tpjrt::pjrt {

class Client;

// kUnimplemented for a type without a DType (4-bit integers, tokens, ...).
DType FromPjrt(PJRT_Buffer_Type type);
PJRT_Buffer_Type ToPjrt(DType dtype);

class Buffer {
 public:
  // Takes ownership; dtype, dims and device are what the caller knows the buffer to be. Without a
  // device the plugin is asked.
  Buffer(const Client* client, PJRT_Buffer* buffer, DType dtype, std::vector<int64_t> dims,
         int device);
  Buffer(const Client* client, PJRT_Buffer* buffer, DType dtype, std::vector<int64_t> dims);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& dims() const { return dims_; }
  int64_t nbytes() const { return nbytes_; }  // logical bytes
  int device() const { return device_; }      // index in Client::devices
  PJRT_Buffer* handle() const { return buffer_; }

  // The event of the value's existence; it does not keep the buffer.
  Event ReadyEvent() const;
  // Blocks until the value exists; throws the error of the computation that made it.
  void Await() const;
  bool IsReady() const;
  // Copies the value, row-major, to host memory of nbytes() bytes; blocks. On clients whose device
  // memory is host memory values are read in place (0.2 us against 9 to 27 us for a few bytes).
  void CopyToHost(void* destination) const;
  // Copies to another device of the same client; asynchronous.
  Buffer CopyToDevice(int device) const;

 private:
  void Destroy() noexcept;
  // False when the device's memory cannot be read in place.
  bool CopyInPlace(void* destination) const;
  void CopyThroughPlugin(void* destination) const;
  const Client* client_;
  PJRT_Buffer* buffer_;
  DType dtype_;
  std::vector<int64_t> dims_;
  int64_t nbytes_;
  int device_;
};

}  // namespace tpjrt::pjrt
