#include "aten/entry.h"

#include <algorithm>

#include "aten/call_graph.h"
#include "aten/complaint.h"
#include "aten/dtypes.h"
#include "aten/meta.h"
#include "aten/storage.h"
#include "exec/runtime.h"
#include "lower/view.h"

namespace tpjrt::aten {
namespace {

// The flattened targets of this call, without their types.
std::vector<EntryTarget> TargetsOf(Call& call) {
  std::vector<EntryTarget> targets;
  for (const Target& target : call.binding().targets) {
    if (target.argument < 0) {
      targets.emplace_back();
      targets.back().is_return = true;
      continue;
    }
    for (size_t use = 0; use < call.uses().size(); ++use) {
      if (call.uses()[use].argument != target.argument) continue;
      targets.emplace_back();
      targets.back().use = static_cast<int>(use);
      targets.back().is_return = target.is_return;
      targets.back().is_result = target.is_result;
    }
  }
  return targets;
}

void SetGeometry(EntryTarget& target, c10::ScalarType dtype, at::IntArrayRef sizes,
                 at::IntArrayRef strides) {
  target.dtype = dtype;
  target.sizes.assign(sizes.begin(), sizes.end());
  std::vector<int64_t> order;
  if (DenseOrder(sizes, strides, &order)) {
    target.strides.assign(strides.begin(), strides.end());
    return;
  }
  // Not dense (PyTorch's own result would have gaps or overlaps): row-major.
  const std::vector<int64_t> row_major = RowMajorStrides(sizes);
  target.strides.assign(row_major.begin(), row_major.end());
}

class EntryMaker {
 public:
  explicit EntryMaker(Call& call) : call_(call), binding_(call.binding()) {}

  std::unique_ptr<Entry> Make() {
    entry_->targets = TargetsOf(call_);
    entry_->counted = binding_.registered->row->traits.counted;
    BuildInputs();
    AskPyTorch();
    AskCpu();
    if (NeedsResize()) return std::move(entry_);
    BuildOutputs();
    Compile();
    return std::move(entry_);
  }

 private:
  void BuildInputs() {
    graph_.inputs = InputsOf(call_);
    graph_.nodes.emplace_back();
    graph_.nodes[0].row = binding_.row;
    graph_.nodes[0].arguments = ArgumentsOf(call_);
  }

  // Result types from the meta kernel of the functional overload where there is one: it says what
  // the lowering has to produce, and what an in-place or out= call must be able to hold.
  void AskPyTorch() {
    if (entry_->counted) return;
    const auto answer = Answer();
    if (binding_.returns_list) {
      TORCH_CHECK_NOT_IMPLEMENTED(answer, binding_.name(), " has no meta kernel");
      entry_->targets.resize(answer->results.size(), entry_->targets.front());
    }
    size_t next = 0;  // among the op's own results
    for (EntryTarget& target : entry_->targets) {
      const bool answered = answer && target.is_result && next < answer->results.size();
      if (!answered) {
        NoMeta(target);
        continue;
      }
      const MetaResult& result = answer->results[next++];
      if (target.use < 0) SetResult(target, result);
      if (target.use < 0 && binding_.convolves) PreferChannelsLast(target);
      if (IsOut(target)) CheckOut(target, result);
      if (binding_.functional) CheckHolds(target, result);
      AddNodeResult(target, result);
    }
  }

  std::optional<MetaAnswer> Answer() const {
    if (binding_.name() == "aten::convolution_backward_overrideable") {
      return ConvolutionGradients(call_.arguments());
    }
    // Which strides a shape op gives to a permuted input is the CPU kernels' own choice (roll).
    const bool cpu_strides = binding_.registered->family == "shape" && HasSmallPermutedInput();
    return AskMeta(binding_.functional.value_or(binding_.meta), call_.arguments(),
                   cpu_strides ? c10::kCPU : c10::kMeta);
  }

  bool HasSmallPermutedInput() const {
    constexpr int64_t kSmall = int64_t{1} << 20;
    bool permuted = false;
    for (const TensorUse& use : call_.uses()) {
      if (use.tensor->numel() > kSmall) return false;
      permuted |= !use.tensor->is_contiguous();
    }
    return permuted;
  }

  // The type of a result that the lowering has to produce.
  void AddNodeResult(const EntryTarget& target, const MetaResult& result) {
    auto& results = graph_.nodes[0].results;
    if (target.use >= 0 && !binding_.functional && !IsOut(target)) {
      const at::Tensor& tensor = TensorOf(target);
      results.push_back({ToDType(tensor.scalar_type()), tensor.sizes().vec()});
    } else if (result.defined) {
      results.push_back({ToDType(result.dtype), result.sizes});
    } else {
      results.emplace_back();
    }
  }

  // An in-place or out= target takes the functional result, converted. The CPU is asked whether it
  // allows that: the meta kernel of the functional overload cannot know.
  void CheckHolds(const EntryTarget& target, const MetaResult& result) const {
    const at::Tensor& tensor = TensorOf(target);
    const bool same_sizes = IsOut(target) || tensor.sizes() == at::IntArrayRef(result.sizes);
    if (same_sizes && tensor.scalar_type() == result.dtype) return;
    ThrowCpuComplaint(binding_.op, call_.arguments());
    TORCH_CHECK(same_sizes, binding_.name(), ": output with shape ", tensor.sizes(),
                " doesn't match the broadcast shape ", at::IntArrayRef(result.sizes));
    TORCH_CHECK(c10::canCast(result.dtype, tensor.scalar_type()), binding_.name(), ": result type ",
                result.dtype, " can't be cast to the desired output type ", tensor.scalar_type());
  }

  const at::Tensor& TensorOf(const EntryTarget& target) const {
    return *call_.uses()[static_cast<size_t>(target.use)].tensor;
  }

  // The meta kernels are more lenient than the CPU's: what the CPU refuses is refused, and where
  // the two disagree on a result's dtype the CPU is right.
  void AskCpu() {
    const lower::RegisteredRow& row = *binding_.registered;  // or the one it applies to each entry
    const std::string_view family =
        row.each < 0 ? row.family : lower::Registry::Get().row(row.each).family;
    const bool pointwise = IsOneOf(family, {"unary", "binary", "compare", "ternary", "activation"});
    const bool empty = std::any_of(call_.uses().begin(), call_.uses().end(),
                                   [](const TensorUse& use) { return use.tensor->numel() == 0; });
    const bool reduces = IsOneOf(family, {"reduction", "arg_reduction", "sort", "scan"});
    if (!pointwise && !(reduces && empty)) return;
    const auto dtypes = TryOnCpu(binding_.op, call_.arguments(), /*shrink=*/pointwise);
    auto& results = graph_.nodes[0].results;
    for (size_t i = 0; i < entry_->targets.size() && i < dtypes.size(); ++i) {
      EntryTarget& target = entry_->targets[i];
      if (target.use >= 0 || !target.defined || target.dtype == dtypes[i]) continue;
      target.dtype = dtypes[i];
      if (i < results.size()) results[i].dtype = ToDType(dtypes[i]);
    }
  }

  static bool IsOneOf(std::string_view name, std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  // Convolutions give channels_last results when an input or the weight is laid out so, as the
  // CPU's do; the meta kernels know only part of the rule and nothing of the gradients.
  void PreferChannelsLast(EntryTarget& target) const {
    const auto prefers = [](const TensorUse& use) {
      const auto format = use.tensor->suggest_memory_format();
      return format == c10::MemoryFormat::ChannelsLast ||
             format == c10::MemoryFormat::ChannelsLast3d;
    };
    const auto& uses = call_.uses();
    if (!target.defined || !std::any_of(uses.begin(), uses.end(), prefers)) return;
    if (target.sizes.size() == 4) {
      SetGeometry(target, target.dtype, target.sizes,
                  c10::get_channels_last_strides_2d(target.sizes));
    } else if (target.sizes.size() == 5) {
      SetGeometry(target, target.dtype, target.sizes,
                  c10::get_channels_last_strides_3d(target.sizes));
    }
  }

  bool IsOut(const EntryTarget& target) const {
    if (target.use < 0) return false;
    const int argument = call_.uses()[static_cast<size_t>(target.use)].argument;
    return binding_.arguments[static_cast<size_t>(argument)].is_out;
  }

  void NoMeta(EntryTarget& target) {
    if (target.use < 0) {
      untyped_ = true;
      return;
    }
    const at::Tensor& tensor = TensorOf(target);
    graph_.nodes[0].results.push_back({ToDType(tensor.scalar_type()), tensor.sizes().vec()});
  }

  static void SetResult(EntryTarget& target, const MetaResult& result) {
    target.defined = result.defined;
    target.number = result.number;
    if (result.defined) SetGeometry(target, result.dtype, result.sizes, result.strides);
  }

  void CheckOut(EntryTarget& target, const MetaResult& result) {
    const at::Tensor& out = TensorOf(target);
    SetGeometry(target, out.scalar_type(), result.sizes, result.strides);
    target.needs_resize = out.sizes() != at::IntArrayRef(result.sizes);
  }

  bool NeedsResize() const {
    return std::any_of(entry_->targets.begin(), entry_->targets.end(),
                       [](const EntryTarget& target) { return target.needs_resize; });
  }

  void BuildOutputs() {
    auto id = static_cast<ir::ValueId>(graph_.inputs.size());
    for (const EntryTarget& target : entry_->targets) {
      ir::Output output;
      output.value = id++;
      if (target.use >= 0) {
        output.written_input = target.use;
      } else if (!untyped_ && !entry_->counted && target.defined) {
        output.layout = LayoutOf(target.sizes, target.strides);
      }
      graph_.outputs.push_back(std::move(output));
    }
    if (entry_->counted) {
      ir::Output count;
      count.value = id;
      graph_.outputs.push_back(count);
    }
    if (untyped_ || entry_->counted) graph_.nodes[0].results.clear();
  }

  void Compile() {
    lower::Program program;
    try {
      program = lower::LowerGraph(graph_);
      entry_->unsupported = program.unsupported;
      if (!entry_->unsupported.empty()) return;
      exec::Runtime& runtime = exec::Runtime::Get();
      entry_->executable = runtime.programs().Compile(runtime.client(), program.text,
                                                      static_cast<int>(program.parameters.size()));
    } catch (const Error& error) {
      throw Error(error.code(), StrCat(binding_.name(), "(", TypesOf(call_), "): ", error.what()));
    }
    entry_->parameters = std::move(program.parameters);
    for (size_t i = 0; i < entry_->targets.size(); ++i) {
      EntryTarget& target = entry_->targets[i];
      const hlo::Type& type = program.outputs[i];
      target.defined = program.output_defined[i];
      if (!target.defined) continue;
      target.type = exec::InternType(type.dtype, type.dims);
      if (target.use < 0 && (untyped_ || entry_->counted || HasOwnSize(target, type))) {
        SetRowMajor(target, type);
      }
      CheckType(target, type);
    }
    if (program.reports_faults) {
      const int64_t words[] = {3};
      entry_->report_type = exec::InternType(DType::kI64, words);
    }
    if (entry_->counted) {
      const hlo::Type& type = program.outputs.back();
      entry_->count_type = exec::InternType(type.dtype, type.dims);
    }
  }

  bool HasOwnSize(const EntryTarget& target, const hlo::Type& type) const {
    return binding_.registered->row->traits.own_result_sizes &&
           hlo::NumElements(type.dims) != c10::multiply_integers(target.sizes);
  }

  static void SetRowMajor(EntryTarget& target, const hlo::Type& type) {
    SetGeometry(target, ToScalarType(type.dtype), type.dims, RowMajorStrides(type.dims));
  }

  void CheckType(const EntryTarget& target, const hlo::Type& type) const {
    if (target.use >= 0) return;
    Check(target.dtype == ToScalarType(type.dtype), binding_.name(), "(", TypesOf(call_),
          ") was lowered to ", Name(type.dtype), ", PyTorch says ", Name(ToDType(target.dtype)));
  }

  Call& call_;
  const Binding& binding_;
  ir::Graph graph_;
  std::unique_ptr<Entry> entry_ = std::make_unique<Entry>();
  bool untyped_ = false;
};

}  // namespace

std::unique_ptr<Entry> MakeEntry(Call& call) {
  try {
    return EntryMaker(call).Make();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kResourceExhausted) {
      ThrowCpuComplaint(call.binding().op, call.arguments());
    }
    throw;
  } catch (const std::exception&) {  // PyTorch's, in C++ or Python
    ThrowCpuComplaint(call.binding().op, call.arguments());
    throw;
  }
}

}  // namespace tpjrt::aten
