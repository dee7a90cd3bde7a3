#include "pjrt/buffer.h"

#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "pjrt/call.h"
#include "pjrt/client.h"
#include "pjrt/fork.h"

namespace tpjrt::pjrt {
namespace {

constexpr std::array<PJRT_Buffer_Type, kNumDTypes> kTypes = {
    PJRT_Buffer_Type_PRED,       PJRT_Buffer_Type_U8,     PJRT_Buffer_Type_S8,
    PJRT_Buffer_Type_U16,        PJRT_Buffer_Type_S16,    PJRT_Buffer_Type_U32,
    PJRT_Buffer_Type_S32,        PJRT_Buffer_Type_U64,    PJRT_Buffer_Type_S64,
    PJRT_Buffer_Type_F8E4M3FN,   PJRT_Buffer_Type_F8E5M2, PJRT_Buffer_Type_F8E4M3FNUZ,
    PJRT_Buffer_Type_F8E5M2FNUZ, PJRT_Buffer_Type_F16,    PJRT_Buffer_Type_BF16,
    PJRT_Buffer_Type_F32,        PJRT_Buffer_Type_F64,    PJRT_Buffer_Type_C64,
    PJRT_Buffer_Type_C128,
};

int64_t NumBytes(DType dtype, const std::vector<int64_t>& dims) {
  auto bytes = static_cast<int64_t>(ItemSize(dtype));
  for (int64_t dim : dims) bytes *= dim;
  return bytes;
}

// Row-major up to dims of size 1, whose place does not matter.
bool IsRowMajor(std::span<const int64_t> minor_to_major, const std::vector<int64_t>& dims) {
  auto previous = static_cast<int64_t>(dims.size());
  for (const int64_t dim : minor_to_major) {
    if (dims[static_cast<size_t>(dim)] == 1) continue;
    if (dim > previous) return false;
    previous = dim;
  }
  return true;
}

// Writes the elements of a dense array in another order of dims, row by row.
void CopyRowMajor(char* destination, const char* source, const std::vector<int64_t>& dims,
                  std::span<const int64_t> minor_to_major, size_t item_size) {
  std::vector<int64_t> strides(dims.size()), at(dims.size(), 0);
  int64_t elements = 1;
  for (const int64_t dim : minor_to_major) {
    strides[static_cast<size_t>(dim)] = elements * static_cast<int64_t>(item_size);
    elements *= dims[static_cast<size_t>(dim)];
  }
  int64_t offset = 0;
  for (int64_t i = 0; i < elements; ++i, destination += item_size) {
    std::memcpy(destination, source + offset, item_size);
    for (size_t d = dims.size(); d-- > 0;) {
      offset += strides[d];
      if (++at[d] < dims[d]) break;
      offset -= strides[d] * at[d];
      at[d] = 0;
    }
  }
}

}  // namespace

DType FromPjrt(PJRT_Buffer_Type type) {
  for (size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i] == type) return static_cast<DType>(i);
  }
  Fail(ErrorCode::kUnimplemented, "PJRT element type ", static_cast<int>(type),
       " has no PyTorch dtype; convert the value inside the program");
}

PJRT_Buffer_Type ToPjrt(DType dtype) { return kTypes.at(static_cast<size_t>(dtype)); }

Buffer::Buffer(const Client* client, PJRT_Buffer* buffer, DType dtype, std::vector<int64_t> dims,
               int device)
    : client_(client),
      buffer_(buffer),
      dtype_(dtype),
      dims_(std::move(dims)),
      nbytes_(NumBytes(dtype, dims_)),
      device_(device) {}

Buffer::Buffer(const Client* client, PJRT_Buffer* buffer, DType dtype, std::vector<int64_t> dims)
    : Buffer(client, buffer, dtype, std::move(dims), 0) {
  auto args = TPJRT_ARGS(PJRT_Buffer_Device);
  args.buffer = buffer_;
  TPJRT_CALL(client_->api(), PJRT_Buffer_Device, args);
  device_ = client_->device_index(args.device);
}

Buffer::Buffer(Buffer&& other) noexcept
    : client_(other.client_),
      buffer_(std::exchange(other.buffer_, nullptr)),
      dtype_(other.dtype_),
      dims_(std::move(other.dims_)),
      nbytes_(other.nbytes_),
      device_(other.device_) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    Destroy();
    client_ = other.client_;
    buffer_ = std::exchange(other.buffer_, nullptr);
    dtype_ = other.dtype_;
    dims_ = std::move(other.dims_);
    nbytes_ = other.nbytes_;
    device_ = other.device_;
  }
  return *this;
}

Buffer::~Buffer() { Destroy(); }

void Buffer::Destroy() noexcept {
  if (buffer_ == nullptr || InForkedChild()) return;
  auto args = TPJRT_ARGS(PJRT_Buffer_Destroy);
  args.buffer = std::exchange(buffer_, nullptr);
  TPJRT_TRY_CALL(client_->api(), PJRT_Buffer_Destroy, args);
}

Event Buffer::ReadyEvent() const {
  RequireNotForked("reading a device buffer");
  auto args = TPJRT_ARGS(PJRT_Buffer_ReadyEvent);
  args.buffer = buffer_;
  TPJRT_CALL(client_->api(), PJRT_Buffer_ReadyEvent, args);
  return Event(client_->api(), args.event);
}

void Buffer::Await() const { ReadyEvent().Await(); }

bool Buffer::IsReady() const { return ReadyEvent().IsReady(); }

bool Buffer::CopyInPlace(void* destination) const {
  const PJRT_Api* api = client_->api();
  if (!client_->host_memory()) return false;
  auto get = TPJRT_ARGS(PJRT_Buffer_GetMemoryLayout);
  get.buffer = buffer_;
  if (!TPJRT_TRY_CALL(api, PJRT_Buffer_GetMemoryLayout, get)) return false;
  const PJRT_Buffer_MemoryLayout_Tiled& layout = get.layout.tiled;
  if (get.layout.type != PJRT_Buffer_MemoryLayout_Type_Tiled || layout.num_tiles != 0 ||
      layout.minor_to_major_size != dims_.size()) {
    return false;
  }
  auto address = TPJRT_ARGS(PJRT_Buffer_UnsafePointer);
  address.buffer = buffer_;
  if (!TPJRT_TRY_CALL(api, PJRT_Buffer_UnsafePointer, address)) return false;
  const auto* source =
      reinterpret_cast<const char*>(address.buffer_pointer);  // NOLINT: C API's type
  const std::span<const int64_t> order(layout.minor_to_major, dims_.size());
  if (IsRowMajor(order, dims_)) {
    std::memcpy(destination, source, static_cast<size_t>(nbytes_));
  } else {
    CopyRowMajor(static_cast<char*>(destination), source, dims_, order, ItemSize(dtype_));
  }
  return true;
}

void Buffer::CopyThroughPlugin(void* destination) const {
  std::vector<int64_t> minor_to_major(dims_.size());
  for (size_t i = 0; i < dims_.size(); ++i) {
    minor_to_major[i] = static_cast<int64_t>(dims_.size() - 1 - i);
  }
  auto layout = Args<PJRT_Buffer_MemoryLayout>(PJRT_Buffer_MemoryLayout_STRUCT_SIZE);
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
  layout.tiled.minor_to_major = minor_to_major.data();
  layout.tiled.minor_to_major_size = minor_to_major.size();
  auto args = TPJRT_ARGS(PJRT_Buffer_ToHostBuffer);
  args.src = buffer_;
  args.host_layout = &layout;
  args.dst = destination;
  args.dst_size = static_cast<size_t>(nbytes_);
  TPJRT_CALL(client_->api(), PJRT_Buffer_ToHostBuffer, args);
  Event(client_->api(), args.event).Await();
}

// Reading in place beats a copy by the plugin's threads at every size on the CPU plugins (0.2 us
// against 9 for a few bytes, 110 against 155 for 4 MiB), and one of them (API 0.81) ignores the
// host layout that it is asked for.
void Buffer::CopyToHost(void* destination) const {
  RequireNotForked("copying a device buffer to the host");
  Await();
  if (nbytes_ == 0 || CopyInPlace(destination)) return;
  CopyThroughPlugin(destination);
}

Buffer Buffer::CopyToDevice(int device) const {
  RequireNotForked("copying a device buffer to another device");
  Require(device != device_, "CopyToDevice: the buffer is already on device ", device);
  auto args = TPJRT_ARGS(PJRT_Buffer_CopyToDevice);
  args.buffer = buffer_;
  args.dst_device = client_->device_handle(device);
  TPJRT_CALL(client_->api(), PJRT_Buffer_CopyToDevice, args);
  return Buffer(client_, args.dst_buffer, dtype_, dims_, device);
}

}  // namespace tpjrt::pjrt
