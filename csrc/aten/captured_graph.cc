#include "aten/captured_graph.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "aten/dtypes.h"
#include "aten/storage.h"
#include "exec/runtime.h"
#include "lower/node_error.h"
#include "lower/registry.h"

namespace tpjrt::aten {
namespace {

using Kind = lower::Parameter::Kind;

using Names = std::vector<std::string>;

std::string NameOf(const ir::Node& node) {
  if (node.control != ir::Control::kNone) return "control flow";
  if (node.function) return node.function->op;
  return "aten::" + lower::Registry::Get().row(node.row).schema.FullName();
}

// "aten::embedding at model.py:12", per node. Kept for the life of the process, as reports of
// faults refer to them after the graph is gone; the same graph for other sizes has the same names.
const Names& NamesOf(const ir::Graph& graph, const Names& lines) {
  static auto* mutex = new std::mutex();
  static auto* kept = new std::set<Names>();
  Names names;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    names.push_back(NameOf(graph.nodes[i]));
    if (!lines[i].empty()) names.back() += " at " + lines[i];
  }
  const std::lock_guard lock(*mutex);
  return *kept->insert(std::move(names)).first;
}

int64_t Since(std::chrono::steady_clock::time_point start) {
  return (std::chrono::steady_clock::now() - start) / std::chrono::nanoseconds(1);
}

// Nothing for a node that is not random; none for an empty result.
std::optional<uint64_t> DrawsOf(const ir::Node& node) {
  if (node.row < 0) return std::nullopt;
  const int each = lower::Registry::Get().row(node.row).row->traits.draws_per_element;
  if (each == 0 || node.results.empty()) return std::nullopt;
  return static_cast<uint64_t>(each) *
         static_cast<uint64_t>(c10::multiply_integers(node.results[0].sizes));
}

// Says whose text the compiler may be complaining about.
std::string LoweringsFromOutside(const ir::Graph& graph) {
  std::set<std::string> ops;
  for (const ir::Node& node : graph.nodes) {
    if (node.function) ops.insert(node.function->op);
  }
  std::string text;
  for (const std::string& op : ops) text += (text.empty() ? "" : ", ") + op;
  if (text.empty()) return text;
  return "\nThe program holds StableHLO given to torch_pjrt.register_lowering for " + text;
}

}  // namespace

CapturedGraph::CapturedGraph(std::string name, ir::Graph graph, std::vector<CapturedResult> results,
                             int device, std::map<int, int> generators,
                             std::vector<std::string> lines)
    : name_(std::move(name)),
      graph_(std::move(graph)),
      results_(std::move(results)),
      device_(device),
      lines_(std::move(lines)),
      written_(graph_.inputs.size(), false) {
  Check(lines_.size() == graph_.nodes.size(), name_, ": not one line per node");
  graph_.captured = true;
  for (const ir::Output& output : graph_.outputs) {
    if (output.written_input < 0) continue;
    written_[static_cast<size_t>(output.written_input)] = true;
    writes_ = true;
  }
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    const auto node = static_cast<int>(i);
    const std::optional<uint64_t> draws = DrawsOf(graph_.nodes[i]);
    const auto own = generators.find(node);
    if (draws) draws_.push_back({node, *draws, own == generators.end() ? -1 : own->second});
  }
}

std::string CapturedGraph::text() const {
  const std::lock_guard lock(text_mutex_);
  return text_;
}

std::optional<UnsupportedNode> CapturedGraph::Prepare(
    const std::vector<std::vector<int64_t>>& strides) {
  Check(strides.size() == graph_.inputs.size(), name_, ": prepared for ", strides.size(),
        " inputs, it has ", graph_.inputs.size());
  ir::KeyBuilder key;
  std::vector<ir::Input> inputs = graph_.inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].kind == ir::Input::Kind::kHostScalar) {
      AddHostScalar(key, ToScalarType(inputs[i].dtype), inputs[i].wrapped_number);
      continue;
    }
    const auto& sizes = graph_.inputs[i].geometry.sizes;
    const c10::ScalarType dtype = ToScalarType(inputs[i].dtype);
    const exec::PhysicalType* type = DenseType(dtype, sizes, strides[i]);
    if (type == nullptr) type = exec::InternType(inputs[i].dtype, sizes);
    const bool dense = DenseType(dtype, sizes, strides[i]) != nullptr;
    const std::vector<int64_t> lie = dense ? strides[i] : RowMajorStrides(sizes);
    const ir::Form form = AddGeometry(key, dtype, sizes, lie, 0, *type, written_[i]);
    inputs[i] = InputOf(dtype, sizes, lie, 0, *type, form);
  }
  return ProgramFor(key, std::move(inputs)).unsupported;
}

void CapturedGraph::CheckInput(size_t index, const at::Tensor& tensor) const {
  const ir::Input& input = graph_.inputs[index];
  TORCH_CHECK(tensor.defined() && tensor.sizes() == at::IntArrayRef(input.geometry.sizes) &&
                  ToDType(tensor.scalar_type()) == input.dtype,
              name_, ": input ", index, " was captured as ", Name(input.dtype),
              hlo::ToString(input.geometry.sizes), " and is ",
              tensor.defined()
                  ? StrCat(Name(ToDType(tensor.scalar_type())), hlo::ToString(tensor.sizes().vec()))
                  : std::string("None"));
  TORCH_CHECK(!tensor.key_set().has(c10::DispatchKey::Python), name_, ": input ", index,
              " is a fake tensor: it has no data");
  if (input.kind == ir::Input::Kind::kHostScalar) return;
  TORCH_CHECK(tensor.device().type() == kDevice && tensor.device().index() == device_, name_,
              ": input ", index, " was captured on ",
              c10::Device(kDevice, static_cast<c10::DeviceIndex>(device_)), " and is on ",
              tensor.device());
}

TensorUses CapturedGraph::UsesOf(at::ArrayRef<at::Tensor> inputs, ir::KeyBuilder& key) const {
  TORCH_CHECK(inputs.size() == graph_.inputs.size(), name_, " takes ", graph_.inputs.size(),
              " inputs, got ", inputs.size());
  TensorUses uses;
  uses.reserve(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    CheckInput(i, inputs[i]);
    const bool host = graph_.inputs[i].kind == ir::Input::Kind::kHostScalar;
    uses.push_back(host ? UseHostScalar(inputs[i], key)
                        : UseDeviceTensor(inputs[i], written_[i], key));
  }
  if (writes_) RefuseOverlap(uses);
  return uses;
}

const CapturedGraph::Program& CapturedGraph::ProgramFor(const ir::KeyBuilder& key,
                                                        std::vector<ir::Input> inputs) {
  const Program* program = programs_.Find(key.words());
  if (program == nullptr) program = programs_.Insert(key.words(), Compile(std::move(inputs)));
  return *program;
}

std::string CapturedGraph::Describe() const {
  constexpr size_t kShown = 8;
  std::string text = name_ + "(";
  for (size_t i = 0; i < std::min(kShown, graph_.inputs.size()); ++i) {
    const ir::Input& input = graph_.inputs[i];
    text += (i > 0 ? ", " : "") + hlo::ToString(hlo::Type{input.dtype, input.geometry.sizes});
  }
  text += graph_.inputs.size() > kShown ? ", ...)" : ")";
  const auto known = [](const std::string& line) { return !line.empty(); };
  const auto first = std::find_if(lines_.begin(), lines_.end(), known);
  if (first == lines_.end()) return text;
  const auto last = std::find_if(lines_.rbegin(), lines_.rend(), known);
  text += " from " + *first;
  return *first == *last ? text : text + " to " + *last;
}

lower::Program CapturedGraph::LowerAndCompile(const ir::Graph& graph, Program& made) {
  auto start = std::chrono::steady_clock::now();
  lower::Program lowered = lower::LowerGraph(graph);
  lowering_ns_ += Since(start);
  if (lowered.unsupported_node >= 0) {
    made.unsupported = UnsupportedNode{lowered.unsupported_node, lowered.unsupported};
    return lowered;
  }
  start = std::chrono::steady_clock::now();
  exec::Runtime& runtime = exec::Runtime::Get();
  made.executable = runtime.programs().Compile(runtime.client(), lowered.text,
                                               static_cast<int>(lowered.parameters.size()));
  compiling_ns_ += Since(start);
  return lowered;
}

std::unique_ptr<CapturedGraph::Program> CapturedGraph::Compile(std::vector<ir::Input> inputs) {
  auto made = std::make_unique<Program>();
  ir::Graph graph = graph_;
  graph.inputs = std::move(inputs);
  lower::Program lowered;
  try {
    lowered = LowerAndCompile(graph, *made);
  } catch (const lower::NodeError& error) {
    const std::string& line = lines_[static_cast<size_t>(error.node())];
    throw Error(error.code(), StrCat(name_, line.empty() ? "" : " at " + line, ": ", error.what()));
  } catch (const Error& error) {
    throw Error(error.code(), StrCat(Describe(), ": ", error.what(), LoweringsFromOutside(graph)));
  }
  if (made->unsupported) return made;
  made->parameters = std::move(lowered.parameters);
  made->defined = lowered.output_defined;
  for (size_t i = 0; i < lowered.outputs.size(); ++i) {
    const hlo::Type& type = lowered.outputs[i];
    if (made->defined[i]) made->types.push_back(exec::InternType(type.dtype, type.dims));
  }
  if (lowered.reports_faults) {
    made->node_names = NamesOf(graph_, lines_).data();
    const int64_t words[] = {3};
    made->report_type = exec::InternType(DType::kI64, words);
  }
  const std::lock_guard lock(text_mutex_);
  text_ = std::move(lowered.text);
  return made;
}

const CapturedGraph::Program& CapturedGraph::ProgramFor(const ir::KeyBuilder& key,
                                                        const TensorUses& uses) {
  const Program* program = programs_.Find(key.words());
  if (program == nullptr) {
    std::vector<ir::Input> inputs;
    for (const TensorUse& use : uses) inputs.push_back(InputOf(use));
    program = &ProgramFor(key, std::move(inputs));
  }
  TORCH_CHECK(!program->unsupported, name_, ": ", program->unsupported->reason);
  return *program;
}

std::map<int, DrawState> CapturedGraph::Draw(at::ArrayRef<at::Generator> generators) const {
  std::map<int, DrawState> states;
  for (const Draws& draws : draws_) {
    std::optional<at::Generator> generator;
    if (draws.generator >= 0) generator = generators.at(static_cast<size_t>(draws.generator));
    states[draws.node] = ReserveDraws(generator, device_, draws.count);
  }
  return states;
}

std::vector<exec::Operand> CapturedGraph::OperandsOf(const Program& program, const TensorUses& uses,
                                                     const std::map<int, DrawState>& states) const {
  std::vector<exec::Operand> operands;
  operands.reserve(program.parameters.size());
  for (const lower::Parameter& parameter : program.parameters) {
    if (parameter.kind != Kind::kSeed && parameter.kind != Kind::kDrawOffset) {
      operands.push_back(OperandOf(parameter, uses[static_cast<size_t>(parameter.input)], device_));
      continue;
    }
    const DrawState& state = states.at(parameter.node);
    const uint64_t word = parameter.kind == Kind::kSeed ? state.seed : state.offset;
    operands.emplace_back().buffer =
        exec::Runtime::Get().scalars().Get(exec::ScalarBits::Of(DType::kU64, word), device_);
  }
  return operands;
}

std::vector<exec::Destination> CapturedGraph::DestinationsOf(const Program& program,
                                                             const TensorUses& uses) const {
  std::vector<exec::Destination> destinations;
  size_t next = 0;
  for (size_t i = 0; i < graph_.outputs.size(); ++i) {
    if (!program.defined[i]) continue;
    exec::Destination& destination = destinations.emplace_back();
    destination.type = program.types[next++];
    const int written = graph_.outputs[i].written_input;
    if (written >= 0) destination.slot = uses[static_cast<size_t>(written)].slot;
  }
  if (program.report_type != nullptr) destinations.push_back({nullptr, program.report_type});
  return destinations;
}

std::vector<at::Tensor> CapturedGraph::ResultsOf(const Program& program,
                                                 std::vector<exec::BufferRef>& buffers) const {
  std::vector<at::Tensor> tensors;
  size_t next = 0;
  for (size_t i = 0; i < results_.size(); ++i) {
    if (!program.defined[i]) {
      tensors.emplace_back();
      continue;
    }
    const CapturedResult& result = results_[i];
    tensors.push_back(MakeTensor(device_, result.dtype, result.sizes, result.strides,
                                 program.types[next], std::move(buffers[next])));
    ++next;
  }
  return tensors;
}

void CapturedGraph::ReportFaults(const Program& program,
                                 std::vector<exec::BufferRef>& buffers) const {
  if (program.report_type == nullptr) return;
  exec::Runtime& runtime = exec::Runtime::Get();
  runtime.faults(device_).Add(std::move(buffers.back()), program.node_names);
  if (runtime.mode() == exec::Mode::kDebug) runtime.faults(device_).Raise();
}

std::vector<at::Tensor> CapturedGraph::Run(at::ArrayRef<at::Tensor> inputs,
                                           at::ArrayRef<at::Generator> generators) {
  ir::KeyBuilder key;
  const TensorUses uses = UsesOf(inputs, key);
  const Program& program = ProgramFor(key, uses);
  std::vector<exec::Operand> operands = OperandsOf(program, uses, Draw(generators));
  std::vector<exec::BufferRef> buffers;
  try {
    exec::Execute(*program.executable, device_, operands, DestinationsOf(program, uses), &buffers);
  } catch (const Error& error) {
    throw Error(error.code(), StrCat(Describe(), ": ", error.what()));
  }
  std::vector<at::Tensor> results = ResultsOf(program, buffers);
  ReportFaults(program, buffers);
  return results;
}

std::vector<double> CapturedGraph::TimeRaw(at::ArrayRef<at::Tensor> inputs, int rounds) {
  ir::KeyBuilder key;
  const TensorUses uses = UsesOf(inputs, key);
  const Program& program = ProgramFor(key, uses);
  TORCH_CHECK(draws_.empty(), name_, " draws random numbers");
  std::vector<exec::BufferRef> held;
  std::vector<PJRT_Buffer*> arguments;
  std::vector<int64_t> keep;
  for (exec::Operand& operand : OperandsOf(program, uses, {})) {
    if (operand.may_donate) keep.push_back(static_cast<int64_t>(arguments.size()));
    held.push_back(operand.buffer ? operand.buffer : exec::ReadSlot(*operand.slot));
    arguments.push_back(held.back()->buffer().handle());
  }
  const std::vector<exec::Destination> destinations = DestinationsOf(program, uses);
  std::vector<PJRT_Buffer*> outputs(destinations.size());
  std::vector<double> seconds;
  for (int round = 0; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    program.executable->Execute(arguments, outputs, device_, keep);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const pjrt::Buffer buffer(&exec::Runtime::Get().client(), outputs[i],
                                destinations[i].type->dtype, destinations[i].type->dims, device_);
      buffer.Await();
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    seconds.push_back(taken.count());
  }
  return seconds;
}

}  // namespace tpjrt::aten
