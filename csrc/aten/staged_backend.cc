#include "aten/staged_backend.h"

#include <ATen/core/LegacyTypeDispatch.h>

#include <utility>

#include "aten/staged_transfers.h"

namespace tpjrt::aten {
namespace {

using c10d::OpType;

const at::Tensor& Only(const std::vector<at::Tensor>& tensors) {
  TORCH_CHECK_VALUE(tensors.size() == 1, "expected one tensor a process, got ", tensors.size());
  return tensors.front();
}

void CheckPairs(size_t outputs, size_t inputs) {
  TORCH_CHECK_VALUE(outputs == inputs, "expected as many outputs as inputs, got ", outputs, " and ",
                    inputs);
}

// What the queue does for one call: `body`, whose end or error becomes the handle's. Tensors are
// seen as below autograd: no graph, no version counter, as in communication on the CPU.
template <typename Body>
void Carry(StagedWork& work, Body&& body) {
  try {
    const at::AutoDispatchBelowADInplaceOrView below;
    std::forward<Body>(body)();
  } catch (...) {
    work.Fail(std::current_exception());
    return;
  }
  work.Complete();
}

}  // namespace

StagedBackend::StagedBackend(c10::intrusive_ptr<c10d::Backend> host, std::string name)
    : Backend(host->getRank(), host->getSize()), host_(std::move(host)), name_(std::move(name)) {}

StagedBackend::~StagedBackend() = default;

void StagedBackend::setGroupUid(const std::string& uid) {
  Backend::setGroupUid(uid);
  host_->setGroupUid(uid);
}

StagedBackend::Handle StagedBackend::Remember(c10::intrusive_ptr<StagedWork> work) {
  const std::scoped_lock lock(coalescing_);
  if (coalesced_) coalesced_->push_back(work);
  return work;
}

StagedBackend::Handle StagedBackend::Collective(OpType kind, Tensors outputs, Body body) {
  auto work = c10::make_intrusive<StagedWork>(rank_, kind, std::move(outputs));
  collectives_.Push(
      [work, host = host_, body = std::move(body)] { Carry(*work, [&] { body(*host); }); });
  return Remember(std::move(work));
}

StagedBackend::Handle StagedBackend::Message(OpType kind, Tensors outputs, Start start,
                                             std::function<void()> finish) {
  auto work = c10::make_intrusive<StagedWork>(rank_, kind, std::move(outputs));
  const bool receives = kind != OpType::SEND;
  messages_.Push(
      [work, receives, host = host_, start = std::move(start), finish = std::move(finish)] {
        Handle sent;
        try {
          const at::AutoDispatchBelowADInplaceOrView below;
          sent = start(*host);
        } catch (...) {
          work->Fail(std::current_exception());
          return;
        }
        RunDetached([work, receives, host, sent, finish] {
          Carry(*work, [&] {
            Await(*host, receives ? "recv" : "send", [&] { return sent; });
            if (receives) work->set_source_rank(sent->sourceRank());
            finish();
          });
        });
      });
  return Remember(std::move(work));
}

void StagedBackend::startCoalescing() {
  const std::scoped_lock lock(coalescing_);
  TORCH_CHECK(!coalesced_, "coalescing has already started in this process group");
  coalesced_ = std::make_unique<std::vector<Handle>>();
}

StagedBackend::Handle StagedBackend::endCoalescing() {
  std::unique_ptr<std::vector<Handle>> works;
  {
    const std::scoped_lock lock(coalescing_);
    works = std::exchange(coalesced_, nullptr);
  }
  TORCH_CHECK(works, "coalescing has not started in this process group");
  Tensors outputs;
  for (const Handle& work : *works)
    for (const at::Tensor& output : work->result()) outputs.push_back(output);
  auto all = c10::make_intrusive<StagedWork>(rank_, OpType::COALESCED, std::move(outputs));
  RunDetached([all, works = std::shared_ptr(std::move(works))] {
    Carry(*all, [&] {
      for (const Handle& work : *works) work->wait();
    });
  });
  return all;
}

StagedBackend::Handle StagedBackend::broadcast(Tensors& tensors,
                                               const c10d::BroadcastOptions& opts) {
  return Collective(OpType::BROADCAST, tensors,
                    [tensor = Only(tensors), opts](auto& host) { Broadcast(host, tensor, opts); });
}

StagedBackend::Handle StagedBackend::allreduce(Tensors& tensors,
                                               const c10d::AllreduceOptions& opts) {
  return Collective(OpType::ALLREDUCE, tensors,
                    [tensor = Only(tensors), opts](auto& host) { AllReduce(host, tensor, opts); });
}

StagedBackend::Handle StagedBackend::allreduce_coalesced(
    Tensors& tensors, const c10d::AllreduceCoalescedOptions& opts) {
  return Collective(OpType::ALLREDUCE_COALESCED, tensors, [tensors, opts](auto& host) {
    for (const at::Tensor& tensor : tensors) AllReduce(host, tensor, opts);
  });
}

StagedBackend::Handle StagedBackend::reduce(Tensors& tensors, const c10d::ReduceOptions& opts) {
  return Collective(OpType::REDUCE, tensors,
                    [tensor = Only(tensors), opts](auto& host) { Reduce(host, tensor, opts); });
}

StagedBackend::Handle StagedBackend::allgather(TensorLists& outputs, Tensors& inputs,
                                               const c10d::AllgatherOptions& opts) {
  TORCH_CHECK_VALUE(outputs.size() == 1, "expected one list of outputs, got ", outputs.size());
  CheckPairs(outputs.front().size(), static_cast<size_t>(size_));
  return Collective(OpType::ALLGATHER, outputs.front(),
                    [list = outputs.front(), input = Only(inputs), opts](auto& host) {
                      AllGather(host, list, input, opts);
                    });
}

StagedBackend::Handle StagedBackend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                                     const c10d::AllgatherOptions& opts) {
  return Collective(OpType::_ALLGATHER_BASE, {output}, [output, input, opts](auto& host) {
    AllGatherInto(host, output, input, opts);
  });
}

StagedBackend::Handle StagedBackend::allgather_coalesced(TensorLists& outputs, Tensors& inputs,
                                                         const c10d::AllgatherOptions& opts) {
  // outputs[rank][i], as for Gloo.
  CheckPairs(outputs.size(), static_cast<size_t>(size_));
  Tensors all;
  for (const Tensors& list : outputs) {
    CheckPairs(list.size(), inputs.size());
    all.insert(all.end(), list.begin(), list.end());
  }
  return Collective(OpType::ALLGATHER_COALESCED, all, [outputs, inputs, opts](auto& host) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      Tensors list;
      for (const Tensors& of_rank : outputs) list.push_back(of_rank[i]);
      AllGather(host, list, inputs[i], opts);
    }
  });
}

StagedBackend::Handle StagedBackend::allgather_into_tensor_coalesced(
    Tensors& outputs, Tensors& inputs, const c10d::AllgatherOptions& opts) {
  CheckPairs(outputs.size(), inputs.size());
  return Collective(OpType::ALLGATHER_COALESCED, outputs, [outputs, inputs, opts](auto& host) {
    for (size_t i = 0; i < inputs.size(); ++i) AllGatherInto(host, outputs[i], inputs[i], opts);
  });
}

StagedBackend::Handle StagedBackend::gather(TensorLists& outputs, Tensors& inputs,
                                            const c10d::GatherOptions& opts) {
  Tensors list = outputs.empty() ? Tensors{} : outputs.front();
  if (opts.rootRank == rank_) CheckPairs(list.size(), static_cast<size_t>(size_));
  return Collective(OpType::GATHER, list, [list, input = Only(inputs), opts](auto& host) {
    Gather(host, list, input, opts);
  });
}

StagedBackend::Handle StagedBackend::scatter(Tensors& outputs, TensorLists& inputs,
                                             const c10d::ScatterOptions& opts) {
  Tensors list = inputs.empty() ? Tensors{} : inputs.front();
  if (opts.rootRank == rank_) CheckPairs(static_cast<size_t>(size_), list.size());
  return Collective(OpType::SCATTER, outputs, [list, output = Only(outputs), opts](auto& host) {
    Scatter(host, output, list, opts);
  });
}

StagedBackend::Handle StagedBackend::reduce_scatter(Tensors& outputs, TensorLists& inputs,
                                                    const c10d::ReduceScatterOptions& opts) {
  TORCH_CHECK_VALUE(inputs.size() == 1, "expected one list of inputs, got ", inputs.size());
  CheckPairs(static_cast<size_t>(size_), inputs.front().size());
  return Collective(OpType::REDUCE_SCATTER, outputs,
                    [list = inputs.front(), output = Only(outputs), opts](auto& host) {
                      ReduceScatter(host, output, list, opts);
                    });
}

StagedBackend::Handle StagedBackend::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                          const c10d::ReduceScatterOptions& opts) {
  return Collective(OpType::_REDUCE_SCATTER_BASE, {output}, [output, input, opts](auto& host) {
    ReduceScatterFrom(host, output, input, opts);
  });
}

StagedBackend::Handle StagedBackend::reduce_scatter_tensor_coalesced(
    Tensors& outputs, Tensors& inputs, const c10d::ReduceScatterOptions& opts) {
  CheckPairs(outputs.size(), inputs.size());
  return Collective(OpType::REDUCE_SCATTER_TENSOR_COALESCED, outputs,
                    [outputs, inputs, opts](auto& host) {
                      for (size_t i = 0; i < inputs.size(); ++i)
                        ReduceScatterFrom(host, outputs[i], inputs[i], opts);
                    });
}

StagedBackend::Handle StagedBackend::alltoall_base(at::Tensor& output, at::Tensor& input,
                                                   std::vector<int64_t>& output_splits,
                                                   std::vector<int64_t>& input_splits,
                                                   const c10d::AllToAllOptions& opts) {
  return Collective(OpType::ALLTOALL_BASE, {output},
                    [output, input, output_splits, input_splits, opts](auto& host) {
                      AllToAllSplit(host, output, input, output_splits, input_splits, opts);
                    });
}

StagedBackend::Handle StagedBackend::alltoall(Tensors& outputs, Tensors& inputs,
                                              const c10d::AllToAllOptions& opts) {
  CheckPairs(outputs.size(), static_cast<size_t>(size_));
  CheckPairs(static_cast<size_t>(size_), inputs.size());
  return Collective(OpType::ALLTOALL, outputs,
                    [outputs, inputs, opts](auto& host) { AllToAll(host, outputs, inputs, opts); });
}

StagedBackend::Handle StagedBackend::send(Tensors& tensors, int to, int tag) {
  return Message(
      OpType::SEND, {},
      [tensor = Only(tensors), to, tag](c10d::Backend& host) {
        Tensors sent{AsBytes(FlatOnHost(tensor))};
        return Communicate(host, "send", [&] { return host.send(sent, to, tag); });
      },
      [] {});
}

StagedBackend::Handle StagedBackend::recv(Tensors& tensors, int from, int tag) {
  const auto space = std::make_shared<at::Tensor>();
  return Message(
      OpType::RECV, tensors,
      [space, tensor = Only(tensors), from, tag](c10d::Backend& host) {
        *space = FlatSpaceOnHost(tensor);
        Tensors received{AsBytes(*space)};
        return Communicate(host, "recv", [&] { return host.recv(received, from, tag); });
      },
      [space, tensor = Only(tensors)] { WriteBack(tensor, *space); });
}

StagedBackend::Handle StagedBackend::recvAnysource(Tensors& tensors, int tag) {
  const auto space = std::make_shared<at::Tensor>();
  return Message(
      OpType::RECVANYSOURCE, tensors,
      [space, tensor = Only(tensors), tag](c10d::Backend& host) {
        *space = FlatSpaceOnHost(tensor);
        Tensors received{AsBytes(*space)};
        return Communicate(host, "recv", [&] { return host.recvAnysource(received, tag); });
      },
      [space, tensor = Only(tensors)] { WriteBack(tensor, *space); });
}

StagedBackend::Handle StagedBackend::barrier(const c10d::BarrierOptions& opts) {
  return Collective(OpType::BARRIER, {}, [timeout = opts.timeout](auto& host) {
    c10d::BarrierOptions own;
    own.timeout = timeout;
    Await(host, "barrier", [&] { return host.barrier(own); });
  });
}

void StagedBackend::monitoredBarrier(const c10d::BarrierOptions& opts, bool wait_all_ranks) {
  c10d::BarrierOptions own;
  own.timeout = opts.timeout;
  Collective(OpType::BARRIER, {}, [own, wait_all_ranks](auto& host) {
    host.monitoredBarrier(own, wait_all_ranks);
  })->wait();
}

}  // namespace tpjrt::aten
