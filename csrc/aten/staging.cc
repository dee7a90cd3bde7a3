#include "aten/staging.h"

#include <thread>

namespace tpjrt::aten {
namespace {

using Kind = c10d::ReduceOp::RedOpType;

bool LiesFlatOnHost(const at::Tensor& tensor) {
  return tensor.is_cpu() && tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg();
}

at::Tensor Flat(const at::Tensor& contiguous) {
  const at::Tensor real = contiguous.is_complex() ? at::view_as_real(contiguous) : contiguous;
  return real.reshape({-1});
}

// The type in which a tensor is reduced: what the host's library lacks travels in another one.
at::ScalarType WireType(at::ScalarType dtype) {
  if (dtype == at::kBool) return at::kByte;
  if (dtype == at::kShort) return at::kInt;
  return dtype;
}

Kind OfTruthValues(Kind kind) {
  switch (kind) {
    case Kind::SUM:
      return Kind::MAX;
    case Kind::PRODUCT:
      return Kind::MIN;
    case Kind::AVG:
    case Kind::PREMUL_SUM:
      TORCH_CHECK_TYPE(false, "bool tensors have no average: use ReduceOp.SUM (any) or MIN (all)");
    default:
      return kind;
  }
}

}  // namespace

at::Tensor FlatOnHost(const at::Tensor& tensor) {
  if (LiesFlatOnHost(tensor)) return Flat(tensor);
  return Flat(tensor.to(at::kCPU).contiguous().resolve_conj().resolve_neg());
}

at::Tensor FlatSpaceOnHost(const at::Tensor& tensor) {
  if (LiesFlatOnHost(tensor)) return Flat(tensor);
  return Flat(at::empty(tensor.sizes(), tensor.options().device(at::kCPU)));
}

void WriteBack(const at::Tensor& tensor, const at::Tensor& flat) {
  if (tensor.is_cpu() && tensor.const_data_ptr() == flat.const_data_ptr()) return;
  const at::Tensor values =
      tensor.is_complex()
          ? at::view_as_complex(flat.reshape({tensor.numel(), 2})).reshape(tensor.sizes())
          : flat.reshape(tensor.sizes());
  at::Tensor target = tensor;
  target.copy_(values);
}

at::Tensor AsBytes(const at::Tensor& flat) { return flat.view(at::kByte); }

HostReduction::HostReduction(const c10d::ReduceOp& op, at::ScalarType dtype, int world_size)
    : op_(op), dtype_(dtype), world_size_(world_size) {
  if (dtype == at::kBool) op_ = c10d::ReduceOp(OfTruthValues(op.op_));
  if (op.op_ == Kind::PREMUL_SUM) {
    const auto* supplement = dynamic_cast<const c10d::PreMulSumSupplement*>(op.supplement_.get());
    TORCH_CHECK(supplement != nullptr, "ReduceOp.PREMUL_SUM comes without its factor");
    factor_ = supplement->tensor_factor.defined()
                  ? supplement->tensor_factor.to(at::kCPU)
                  : at::scalar_tensor(supplement->double_factor, at::kDouble);
  }
  average_ = op.op_ == Kind::AVG;
  if (average_ || factor_.has_value()) op_ = c10d::ReduceOp(Kind::SUM);
}

at::Tensor HostReduction::Prepare(const at::Tensor& flat) const {
  at::Tensor sent = flat.to(WireType(flat.scalar_type()));
  if (factor_.has_value()) sent = sent.mul(factor_->reshape({})).to(sent.scalar_type());
  return sent;
}

at::Tensor HostReduction::Finish(const at::Tensor& reduced) const {
  at::Tensor values = reduced;
  if (average_ && at::isIntegralType(values.scalar_type(), false))
    values = values.div(world_size_, "trunc");
  else if (average_)
    values = values.div(world_size_);
  return at::isComplexType(dtype_) ? values : values.to(dtype_);
}

StagedWork::StagedWork(int rank, c10d::OpType kind, std::vector<at::Tensor> outputs)
    : Work(rank, kind),
      outputs_(std::move(outputs)),
      future_(
          c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()))) {
}

void StagedWork::Complete() {
  finish();
  future_->markCompleted(c10::IValue(outputs_));
}

void StagedWork::Fail(std::exception_ptr error) {
  finish(error);
  future_->setError(error);
}

struct StagingQueue::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> jobs;
  bool closed = false;

  void Run() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return closed || !jobs.empty(); });
      if (jobs.empty()) return;
      std::function<void()> job = std::move(jobs.front());
      jobs.pop_front();
      lock.unlock();
      job();
      job = nullptr;  // may hold the last reference to a tensor
      lock.lock();
    }
  }
};

StagingQueue::~StagingQueue() {
  if (!state_) return;
  const std::scoped_lock lock(state_->mutex);
  state_->closed = true;
  state_->changed.notify_all();
}

void StagingQueue::Push(std::function<void()> job) {
  const std::scoped_lock start(start_);
  if (!state_) {
    state_ = std::make_shared<State>();
    std::thread([state = state_] { state->Run(); }).detach();
  }
  const std::scoped_lock lock(state_->mutex);
  state_->jobs.push_back(std::move(job));
  state_->changed.notify_all();
}

void RunDetached(std::function<void()> job) { std::thread(std::move(job)).detach(); }

}  // namespace tpjrt::aten
