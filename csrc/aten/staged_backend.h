// A torch.distributed backend for device tensors over one for the host, such as Gloo.
#pragma once

#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

#include "aten/staging.h"

namespace tpjrt::aten {

// Copies tensors to the host, lets `host` communicate, and copies the results back. Every call
// returns at once with a handle. Collectives run one after the other in the order of the calls, as
// on a stream of their own; sends and receives start in the order of the calls and end in any.
//
// Host tensors are served too, in the same order. Any layout is accepted, and written in place.
// A failure (a lost peer, a timeout of `host`, an error of the program that makes a tensor) ends in
// the handle: wait() throws it.
class StagedBackend final : public c10d::Backend {
 public:
  using Tensors = std::vector<at::Tensor>;
  using TensorLists = std::vector<Tensors>;
  using Handle = c10::intrusive_ptr<c10d::Work>;

  StagedBackend(c10::intrusive_ptr<c10d::Backend> host, std::string name);
  ~StagedBackend() override;

  const std::string getBackendName() const override { return name_; }
  void setTimeout(std::chrono::milliseconds timeout) override { host_->setTimeout(timeout); }
  void setGroupUid(const std::string& uid) override;
  void setSequenceNumberForGroup() override { host_->setSequenceNumberForGroup(); }
  uint64_t getSequenceNumberForGroup() override { return host_->getSequenceNumberForGroup(); }
  void abort() override { host_->abort(); }
  void shutdown() override { host_->shutdown(); }

  bool supportsCoalescing() const override { return true; }
  void startCoalescing() override;
  Handle endCoalescing() override;

  Handle broadcast(Tensors& tensors, const c10d::BroadcastOptions& opts) override;
  Handle allreduce(Tensors& tensors, const c10d::AllreduceOptions& opts) override;
  Handle allreduce_coalesced(Tensors& tensors,
                             const c10d::AllreduceCoalescedOptions& opts) override;
  Handle reduce(Tensors& tensors, const c10d::ReduceOptions& opts) override;
  Handle allgather(TensorLists& outputs, Tensors& inputs,
                   const c10d::AllgatherOptions& opts) override;
  Handle _allgather_base(at::Tensor& output, at::Tensor& input,
                         const c10d::AllgatherOptions& opts) override;
  Handle allgather_coalesced(TensorLists& outputs, Tensors& inputs,
                             const c10d::AllgatherOptions& opts) override;
  Handle allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                         const c10d::AllgatherOptions& opts) override;
  Handle gather(TensorLists& outputs, Tensors& inputs, const c10d::GatherOptions& opts) override;
  Handle scatter(Tensors& outputs, TensorLists& inputs, const c10d::ScatterOptions& opts) override;
  Handle reduce_scatter(Tensors& outputs, TensorLists& inputs,
                        const c10d::ReduceScatterOptions& opts) override;
  Handle _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                              const c10d::ReduceScatterOptions& opts) override;
  Handle reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                         const c10d::ReduceScatterOptions& opts) override;
  Handle alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_splits,
                       std::vector<int64_t>& input_splits,
                       const c10d::AllToAllOptions& opts) override;
  Handle alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& opts) override;
  Handle send(Tensors& tensors, int to, int tag) override;
  Handle recv(Tensors& tensors, int from, int tag) override;
  Handle recvAnysource(Tensors& tensors, int tag) override;
  Handle barrier(const c10d::BarrierOptions& opts) override;
  void monitoredBarrier(const c10d::BarrierOptions& opts, bool wait_all_ranks) override;

 private:
  using Body = std::function<void(c10d::Backend& host)>;
  using Start = std::function<Handle(c10d::Backend& host)>;

  Handle Collective(c10d::OpType kind, Tensors outputs, Body body);
  // `start` begins; `finish` runs once the message has passed.
  Handle Message(c10d::OpType kind, Tensors outputs, Start start, std::function<void()> finish);
  Handle Remember(c10::intrusive_ptr<StagedWork> work);

  const c10::intrusive_ptr<c10d::Backend> host_;
  const std::string name_;
  StagingQueue collectives_;
  StagingQueue messages_;
  std::mutex coalescing_;
  std::unique_ptr<std::vector<Handle>> coalesced_;  // between start and end
};

}  // namespace tpjrt::aten
