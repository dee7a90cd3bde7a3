#include "aten/staged_transfers.h"

#include <algorithm>
#include <numeric>

#include "aten/staging.h"

namespace tpjrt::aten {
namespace {

using Tensors = std::vector<at::Tensor>;
using TensorLists = std::vector<Tensors>;

Tensors FlatSpaces(const Tensors& tensors) {
  Tensors spaces;
  for (const at::Tensor& tensor : tensors) spaces.push_back(FlatSpaceOnHost(tensor));
  return spaces;
}

Tensors BytesOf(const Tensors& flats) {
  Tensors bytes;
  for (const at::Tensor& flat : flats) bytes.push_back(AsBytes(flat));
  return bytes;
}

void WriteBackAll(const Tensors& tensors, const Tensors& flats) {
  for (size_t i = 0; i < tensors.size(); ++i) WriteBack(tensors[i], flats[i]);
}

bool EqualSizes(const Tensors& tensors) {
  return std::ranges::all_of(
      tensors, [&](const at::Tensor& t) { return t.numel() == tensors.front().numel(); });
}

void CheckSameDtype(const Tensors& tensors, const at::Tensor& other) {
  for (const at::Tensor& tensor : tensors)
    TORCH_CHECK_TYPE(tensor.scalar_type() == other.scalar_type(),
                     "expected tensors of one dtype, got ", tensor.scalar_type(), " and ",
                     other.scalar_type());
}

// `parts` equal parts make up `whole`.
void CheckParts(const at::Tensor& whole, const at::Tensor& part, int parts) {
  CheckSameDtype({whole}, part);
  TORCH_CHECK_VALUE(whole.numel() == part.numel() * parts, "a tensor of shape ", whole.sizes(),
                    " does not consist of ", parts, " (the size of the group) of shape ",
                    part.sizes());
}

int64_t NumBytes(const at::Tensor& flat) {
  return flat.numel() * static_cast<int64_t>(flat.element_size());
}

}  // namespace

void ThrowCommunicationError(const c10d::Backend& host, std::string_view what, const char* reason) {
  TORCH_CHECK_WITH(DistBackendError, false, what, " failed on rank ", host.getRank(), " of ",
                   host.getSize(), " (", host.getBackendName(), " through host memory): ", reason);
}

void Broadcast(c10d::Backend& host, const at::Tensor& tensor, const c10d::BroadcastOptions& opts) {
  const bool root = host.getRank() == opts.rootRank;
  const at::Tensor flat = root ? FlatOnHost(tensor) : FlatSpaceOnHost(tensor);
  Tensors sent{AsBytes(flat)};
  if (flat.numel() > 0) Await(host, "broadcast", [&] { return host.broadcast(sent, opts); });
  if (!root) WriteBack(tensor, flat);
}

void AllReduce(c10d::Backend& host, const at::Tensor& tensor, const c10d::AllreduceOptions& opts) {
  const HostReduction reduction(opts.reduceOp, tensor.scalar_type(), host.getSize());
  Tensors sent{reduction.Prepare(FlatOnHost(tensor))};
  c10d::AllreduceOptions own = opts;
  own.reduceOp = reduction.op();
  if (tensor.numel() > 0) Await(host, "all_reduce", [&] { return host.allreduce(sent, own); });
  WriteBack(tensor, reduction.Finish(sent.front()));
}

void Reduce(c10d::Backend& host, const at::Tensor& tensor, const c10d::ReduceOptions& opts) {
  const HostReduction reduction(opts.reduceOp, tensor.scalar_type(), host.getSize());
  Tensors sent{reduction.Prepare(FlatOnHost(tensor))};
  c10d::ReduceOptions own = opts;
  own.reduceOp = reduction.op();
  if (tensor.numel() > 0) Await(host, "reduce", [&] { return host.reduce(sent, own); });
  if (host.getRank() == opts.rootRank) WriteBack(tensor, reduction.Finish(sent.front()));
}

void AllGather(c10d::Backend& host, const Tensors& outputs, const at::Tensor& input,
               const c10d::AllgatherOptions& opts) {
  CheckSameDtype(outputs, input);
  Tensors flats = FlatSpaces(outputs);
  const at::Tensor own = FlatOnHost(input);
  const at::Tensor& mine = outputs[static_cast<size_t>(host.getRank())];
  TORCH_CHECK_VALUE(mine.numel() == input.numel(), "all_gather: this rank's output has shape ",
                    mine.sizes(), ", its input ", input.sizes());
  if (EqualSizes(outputs)) {
    TensorLists received{BytesOf(flats)};
    Tensors sent{AsBytes(own)};
    if (own.numel() > 0)
      Await(host, "all_gather", [&] { return host.allgather(received, sent, opts); });
  } else {
    flats[static_cast<size_t>(host.getRank())].copy_(own);
    for (size_t root = 0; root < flats.size(); ++root) {
      c10d::BroadcastOptions from;
      from.rootRank = static_cast<int64_t>(root);
      from.timeout = opts.timeout;
      Tensors sent{AsBytes(flats[root])};
      if (flats[root].numel() > 0)
        Await(host, "all_gather", [&] { return host.broadcast(sent, from); });
    }
  }
  WriteBackAll(outputs, flats);
}

void AllGatherInto(c10d::Backend& host, const at::Tensor& output, const at::Tensor& input,
                   const c10d::AllgatherOptions& opts) {
  CheckParts(output, input, host.getSize());
  const at::Tensor flat = FlatSpaceOnHost(output);
  at::Tensor received = AsBytes(flat);
  at::Tensor sent = AsBytes(FlatOnHost(input));
  if (sent.numel() > 0)
    Await(host, "all_gather", [&] { return host._allgather_base(received, sent, opts); });
  WriteBack(output, flat);
}

void Gather(c10d::Backend& host, const Tensors& outputs, const at::Tensor& input,
            const c10d::GatherOptions& opts) {
  CheckSameDtype(outputs, input);
  const Tensors flats = FlatSpaces(outputs);
  TensorLists received;
  if (host.getRank() == opts.rootRank) received.push_back(BytesOf(flats));
  Tensors sent{AsBytes(FlatOnHost(input))};
  if (sent.front().numel() > 0)
    Await(host, "gather", [&] { return host.gather(received, sent, opts); });
  WriteBackAll(outputs, flats);
}

void Scatter(c10d::Backend& host, const at::Tensor& output, const Tensors& inputs,
             const c10d::ScatterOptions& opts) {
  CheckSameDtype(inputs, output);
  TensorLists sent;
  if (host.getRank() == opts.rootRank) {
    Tensors bytes;
    for (const at::Tensor& input : inputs) bytes.push_back(AsBytes(FlatOnHost(input)));
    sent.push_back(std::move(bytes));
  }
  const at::Tensor flat = FlatSpaceOnHost(output);
  Tensors received{AsBytes(flat)};
  if (flat.numel() > 0) Await(host, "scatter", [&] { return host.scatter(received, sent, opts); });
  WriteBack(output, flat);
}

void ReduceScatter(c10d::Backend& host, const at::Tensor& output, const Tensors& inputs,
                   const c10d::ReduceScatterOptions& opts) {
  CheckSameDtype(inputs, output);
  const at::Tensor& mine = inputs[static_cast<size_t>(host.getRank())];
  TORCH_CHECK_VALUE(mine.numel() == output.numel(), "reduce_scatter: the output has shape ",
                    output.sizes(), ", this rank's input ", mine.sizes());
  const HostReduction reduction(opts.reduceOp, output.scalar_type(), host.getSize());
  for (size_t root = 0; root < inputs.size(); ++root) {
    // Reducing must leave the inputs as they are.
    const at::Tensor flat = FlatOnHost(inputs[root]);
    const at::Tensor prepared = reduction.Prepare(flat);
    Tensors sent{prepared.is_alias_of(inputs[root]) ? prepared.clone() : prepared};
    c10d::ReduceOptions to;
    to.reduceOp = reduction.op();
    to.rootRank = static_cast<int64_t>(root);
    to.timeout = opts.timeout;
    if (flat.numel() > 0) Await(host, "reduce_scatter", [&] { return host.reduce(sent, to); });
    if (to.rootRank == host.getRank()) WriteBack(output, reduction.Finish(sent.front()));
  }
}

void ReduceScatterFrom(c10d::Backend& host, const at::Tensor& output, const at::Tensor& input,
                       const c10d::ReduceScatterOptions& opts) {
  CheckParts(input, output, host.getSize());
  const HostReduction reduction(opts.reduceOp, output.scalar_type(), host.getSize());
  at::Tensor sent = reduction.Prepare(FlatOnHost(input));
  if (sent.is_alias_of(input)) sent = sent.clone();
  at::Tensor received = at::empty({sent.numel() / host.getSize()}, sent.options());
  c10d::ReduceScatterOptions own = opts;
  own.reduceOp = reduction.op();
  if (sent.numel() > 0)
    Await(host, "reduce_scatter", [&] { return host._reduce_scatter_base(received, sent, own); });
  WriteBack(output, reduction.Finish(received));
}

void AllToAllSplit(c10d::Backend& host, const at::Tensor& output, const at::Tensor& input,
                   const std::vector<int64_t>& output_splits,
                   const std::vector<int64_t>& input_splits, const c10d::AllToAllOptions& opts) {
  CheckSameDtype({output}, input);
  const int64_t parts = host.getSize();
  const auto bytes = [parts](const at::Tensor& tensor, const std::vector<int64_t>& rows,
                             const at::Tensor& flat) {
    const int64_t total = tensor.dim() == 0 ? 1 : tensor.size(0);
    std::vector<int64_t> splits = rows;
    if (splits.empty()) {
      TORCH_CHECK_VALUE(total % parts == 0, "all_to_all: a first dimension of ", total,
                        " does not divide by the size of the group, ", parts);
      splits.assign(static_cast<size_t>(parts), total / parts);
    }
    TORCH_CHECK_VALUE(static_cast<int64_t>(splits.size()) == parts &&
                          std::reduce(splits.begin(), splits.end()) == total,
                      "all_to_all: splits ", splits, " for a group of ", parts,
                      " and a first dimension of ", total);
    for (int64_t& split : splits) split *= total == 0 ? 0 : NumBytes(flat) / total;
    return splits;
  };
  const at::Tensor flat = FlatSpaceOnHost(output);
  const at::Tensor own = FlatOnHost(input);
  at::Tensor received = AsBytes(flat);
  at::Tensor sent = AsBytes(own);
  auto from = bytes(output, output_splits, flat);
  auto to = bytes(input, input_splits, own);
  Await(host, "all_to_all", [&] { return host.alltoall_base(received, sent, from, to, opts); });
  WriteBack(output, flat);
}

void AllToAll(c10d::Backend& host, const Tensors& outputs, const Tensors& inputs,
              const c10d::AllToAllOptions& opts) {
  std::vector<int64_t> from;
  std::vector<int64_t> to;
  const Tensors flats = FlatSpaces(outputs);
  Tensors sent_parts;
  for (const at::Tensor& input : inputs) sent_parts.push_back(AsBytes(FlatOnHost(input)));
  for (const at::Tensor& part : sent_parts) to.push_back(part.numel());
  for (const at::Tensor& flat : flats) from.push_back(NumBytes(flat));
  at::Tensor sent = at::cat(sent_parts);
  at::Tensor received = at::empty({std::reduce(from.begin(), from.end())}, sent.options());
  Await(host, "all_to_all", [&] { return host.alltoall_base(received, sent, from, to, opts); });
  int64_t offset = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int64_t length = NumBytes(flats[i]);
    AsBytes(flats[i]).copy_(received.narrow(0, offset, length));
    offset += length;
    WriteBack(outputs[i], flats[i]);
  }
}

}  // namespace tpjrt::aten
