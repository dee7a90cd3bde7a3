// One collective each, from staging its tensors to writing the results back; blocks until then.
#pragma once

#include <exception>
#include <string_view>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <utility>
#include <vector>

namespace tpjrt::aten {

// Makes a call of `host`. Throws c10::DistBackendError that says which of `host`'s ranks was doing
// `what`, with `host`'s own words.
template <typename Call>
auto Communicate(c10d::Backend& host, std::string_view what, Call&& call) -> decltype(call());

// The same, and waits for what the call begins.
template <typename Start>
void Await(c10d::Backend& host, std::string_view what, Start&& start) {
  Communicate(host, what, [&] { start()->wait(); });
}

void Broadcast(c10d::Backend& host, const at::Tensor& tensor, const c10d::BroadcastOptions& opts);
void AllReduce(c10d::Backend& host, const at::Tensor& tensor, const c10d::AllreduceOptions& opts);
// Only the root's tensor is written.
void Reduce(c10d::Backend& host, const at::Tensor& tensor, const c10d::ReduceOptions& opts);
// The outputs may differ in size from rank to rank.
void AllGather(c10d::Backend& host, const std::vector<at::Tensor>& outputs, const at::Tensor& input,
               const c10d::AllgatherOptions& opts);
void AllGatherInto(c10d::Backend& host, const at::Tensor& output, const at::Tensor& input,
                   const c10d::AllgatherOptions& opts);
void Gather(c10d::Backend& host, const std::vector<at::Tensor>& outputs, const at::Tensor& input,
            const c10d::GatherOptions& opts);
void Scatter(c10d::Backend& host, const at::Tensor& output, const std::vector<at::Tensor>& inputs,
             const c10d::ScatterOptions& opts);
// The inputs may differ in size from rank to rank.
void ReduceScatter(c10d::Backend& host, const at::Tensor& output,
                   const std::vector<at::Tensor>& inputs, const c10d::ReduceScatterOptions& opts);
void ReduceScatterFrom(c10d::Backend& host, const at::Tensor& output, const at::Tensor& input,
                       const c10d::ReduceScatterOptions& opts);
// Splits count rows of the first dimension; none means equal parts.
void AllToAllSplit(c10d::Backend& host, const at::Tensor& output, const at::Tensor& input,
                   const std::vector<int64_t>& output_splits,
                   const std::vector<int64_t>& input_splits, const c10d::AllToAllOptions& opts);
void AllToAll(c10d::Backend& host, const std::vector<at::Tensor>& outputs,
              const std::vector<at::Tensor>& inputs, const c10d::AllToAllOptions& opts);

[[noreturn]] void ThrowCommunicationError(const c10d::Backend& host, std::string_view what,
                                          const char* reason);

template <typename Call>
auto Communicate(c10d::Backend& host, std::string_view what, Call&& call) -> decltype(call()) {
  try {
    return std::forward<Call>(call)();
  } catch (const c10::Error& error) {
    ThrowCommunicationError(host, what, error.what_without_backtrace());
  } catch (const std::exception& error) {
    ThrowCommunicationError(host, what, error.what());
  }
}

}  // namespace tpjrt::aten
