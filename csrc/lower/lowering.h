// Lowers a graph to one StableHLO program and says what the program takes and gives.
//
// A pure function of the graph: the same graph gives the same text. "Not supported" is a value
// (Program::unsupported), malformed input a NodeError.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "hlo/type.h"
#include "ir/node.h"

namespace tpjrt::lower {

// One parameter of the program, in order: where the executor finds its value.
struct Parameter {
  enum class Kind {
    kBuffer,      // the buffer of graph input `input`
    kOffset,      // storage offset of graph input `input`, in elements: rank-0 i64
    kHostScalar,  // graph input `input` is a CPU scalar: rank 0 of `dtype`
    kScalar,      // scalar argument `argument` of node `node`: rank 0 of `dtype`
    kSeed,        // random state of node `node`: rank-0 u64
    kDrawOffset,
  };
  Kind kind = Kind::kBuffer;
  int input = -1;
  int node = -1;
  int argument = -1;
  int entry = 0;  // kScalar: of a list of numbers
  DType dtype = DType::kF32;
  bool checked = false;  // kScalar: the number must fit dtype
  // kBuffer: the result whose new content replaces this buffer's, so the buffer may be donated.
  int donated_to = -1;
};

struct Program {
  std::string text;
  std::vector<Parameter> parameters;
  std::vector<hlo::Type> outputs;    // physical types, one per graph output
  std::vector<bool> output_defined;  // false: the lowering left this result undefined
  // One more output, last: i64[3], {index, size + 1, node} of an index out of range; size + 1 is 0
  // when there is none.
  bool reports_faults = false;
  std::string unsupported;    // not empty: no program, and why
  int unsupported_node = -1;  // the node it is about
};

Program LowerGraph(const ir::Graph& graph);

// One line per node, for errors and debugging: "add.Tensor(float32[2, 3], float32[3], alpha=1)".
std::string Describe(const ir::Graph& graph);

}  // namespace tpjrt::lower
