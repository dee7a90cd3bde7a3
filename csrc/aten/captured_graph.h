// A graph that torch.compile or torch.export captured: one executable for each form of its inputs.
//
// The graph says dtypes and sizes of its inputs; how they lie on their storages is found at each
// call. Thread-safe. Errors are the core's, with the graph's name and the lines it comes from;
// those about one node have its op and line.
#pragma once

#include <ATen/core/Generator.h>

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aten/generator.h"
#include "aten/tensor_use.h"
#include "exec/program_cache.h"
#include "lower/lowering.h"

namespace tpjrt::aten {

// A new tensor the graph returns.
struct CapturedResult {
  c10::ScalarType dtype = c10::ScalarType::Float;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;  // dense in some order of the dims
};

// A node that cannot be lowered, and why.
struct UnsupportedNode {
  int node = -1;
  std::string reason;
};

class CapturedGraph {
 public:
  // graph.outputs: first the new tensors, as many as `results`, then the writes into inputs.
  // `lines`: "file:line" of the user's code for each node, empty where it is unknown.
  // `generators`: for each node that draws from a generator of its own, its index among Run's.
  CapturedGraph(std::string name, ir::Graph graph, std::vector<CapturedResult> results, int device,
                std::map<int, int> generators, std::vector<std::string> lines);

  // Lowers and compiles for inputs with these strides at offset 0 of their own storages. Returns
  // the node that stands in the way, if one does.
  std::optional<UnsupportedNode> Prepare(const std::vector<std::vector<int64_t>>& strides);

  // Inputs in order; those the graph writes are written when it returns.
  std::vector<at::Tensor> Run(at::ArrayRef<at::Tensor> inputs,
                              at::ArrayRef<at::Generator> generators);

  // Seconds of each of `rounds` bare executions on these inputs, waited for: what the plugin alone
  // costs. Inputs are kept as they are.
  std::vector<double> TimeRaw(at::ArrayRef<at::Tensor> inputs, int rounds);

  const std::string& name() const { return name_; }
  // The StableHLO text of the program made last.
  std::string text() const;
  int64_t num_programs() const { return static_cast<int64_t>(programs_.size()); }
  // Spent on all its programs so far.
  double lowering_seconds() const { return Seconds(lowering_ns_); }
  double compiling_seconds() const { return Seconds(compiling_ns_); }

 private:
  struct Program {
    std::optional<UnsupportedNode> unsupported;
    exec::ExecutableRef executable;
    std::vector<lower::Parameter> parameters;
    std::vector<const exec::PhysicalType*> types;  // of the defined outputs
    std::vector<bool> defined;                     // per output
    const exec::PhysicalType* report_type = nullptr;
    const std::string* node_names = nullptr;  // with report_type
  };
  struct Draws {
    int node;
    uint64_t count;
    int generator;  // among Run's; -1: the device's default one
  };

  static double Seconds(const std::atomic<int64_t>& ns) {
    return static_cast<double>(ns.load()) * 1e-9;
  }
  // "name(input types) from file:line to file:line", for errors.
  std::string Describe() const;
  // Lowers the graph and hands it to the compiler; what follows from that is set in `made`.
  lower::Program LowerAndCompile(const ir::Graph& graph, Program& made);
  TensorUses UsesOf(at::ArrayRef<at::Tensor> inputs, ir::KeyBuilder& key) const;
  void CheckInput(size_t index, const at::Tensor& tensor) const;
  const Program& ProgramFor(const ir::KeyBuilder& key, std::vector<ir::Input> inputs);
  std::unique_ptr<Program> Compile(std::vector<ir::Input> inputs);
  const Program& ProgramFor(const ir::KeyBuilder& key, const TensorUses& uses);
  std::map<int, DrawState> Draw(at::ArrayRef<at::Generator> generators) const;
  std::vector<exec::Operand> OperandsOf(const Program& program, const TensorUses& uses,
                                        const std::map<int, DrawState>& states) const;
  std::vector<exec::Destination> DestinationsOf(const Program& program,
                                                const TensorUses& uses) const;
  std::vector<at::Tensor> ResultsOf(const Program& program,
                                    std::vector<exec::BufferRef>& buffers) const;
  void ReportFaults(const Program& program, std::vector<exec::BufferRef>& buffers) const;

  std::string name_;
  ir::Graph graph_;
  std::vector<CapturedResult> results_;
  int device_;
  std::vector<std::string> lines_;
  std::vector<bool> written_;  // per input
  bool writes_ = false;
  std::vector<Draws> draws_;
  ir::KeyMap<Program> programs_;
  mutable std::mutex text_mutex_;
  std::string text_;
  std::atomic<int64_t> lowering_ns_{0}, compiling_ns_{0};
};

}  // namespace tpjrt::aten
