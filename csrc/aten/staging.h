// Device tensors on their way through host memory, for communication that knows only the host.
#pragma once

#include <ATen/ATen.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

namespace tpjrt::aten {

// The values of `tensor` as a flat contiguous host tensor: the tensor's own memory when it is
// contiguous on the host, a copy else. Complex numbers become pairs of reals. Waits for the device.
at::Tensor FlatOnHost(const at::Tensor& tensor);

// Flat uninitialised host memory for the values of `tensor`; its own memory as above.
at::Tensor FlatSpaceOnHost(const at::Tensor& tensor);

// Writes values that came from one of the two above back into `tensor`, whatever its strides.
void WriteBack(const at::Tensor& tensor, const at::Tensor& flat);

// The same memory as bytes.
at::Tensor AsBytes(const at::Tensor& flat);

// A reduction that the host's library may not know, as one that it does, with work before and
// after.
class HostReduction {
 public:
  // Throws (c10::Error) for a reduction that has no meaning for `dtype`.
  HostReduction(const c10d::ReduceOp& op, at::ScalarType dtype, int world_size);

  const c10d::ReduceOp& op() const { return op_; }
  // `flat` in a type that can be sent, multiplied where the reduction asks for it; may alias it.
  at::Tensor Prepare(const at::Tensor& flat) const;
  // The sent tensor `reduced` as values for the caller's tensor.
  at::Tensor Finish(const at::Tensor& reduced) const;

 private:
  c10d::ReduceOp op_;
  at::ScalarType dtype_;
  int world_size_;
  bool average_ = false;
  std::optional<at::Tensor> factor_;
};

// A handle on queued communication; completed by the thread that does it. Thread-safe.
class StagedWork final : public c10d::Work {
 public:
  StagedWork(int rank, c10d::OpType kind, std::vector<at::Tensor> outputs);

  void Complete();
  void Fail(std::exception_ptr error);
  void set_source_rank(int rank) { source_rank_ = rank; }

  int sourceRank() const override { return source_rank_; }
  std::vector<at::Tensor> result() override { return outputs_; }
  void synchronize() override {}
  void blockCurrentStream() override { wait(); }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }

 private:
  std::vector<at::Tensor> outputs_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
  int source_rank_ = -1;
};

// Runs jobs one after the other on a thread of its own, started with the first job. The thread
// ends after the last job once the queue is gone; nobody waits for it, as a job may need the GIL
// that the owner's destructor holds.
class StagingQueue {
 public:
  StagingQueue() = default;
  StagingQueue(const StagingQueue&) = delete;
  StagingQueue& operator=(const StagingQueue&) = delete;
  ~StagingQueue();

  // `job` must not throw.
  void Push(std::function<void()> job);

 private:
  struct State;
  std::shared_ptr<State> state_;
  std::mutex start_;
};

// Runs `job` on a thread of its own, which nobody waits for; it must not throw.
void RunDetached(std::function<void()> job);

}  // namespace tpjrt::aten
