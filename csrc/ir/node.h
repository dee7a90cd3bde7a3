// The graph that every producer (eager op, fused queue, torch.compile) hands to the lowering.
//
// Values are numbered: the graph's inputs first, then the results of node 0, node 1, ... All types
// here are plain value types.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "ir/geometry.h"

namespace tpjrt::ir {

using ValueId = int32_t;
inline constexpr ValueId kNoValue = -1;

// A PyTorch number. Its kind (and, where the row says so, its value) is part of the program's key.
struct Scalar {
  std::variant<bool, int64_t, double, std::complex<double>> value;
  bool operator==(const Scalar&) const = default;
};

struct TensorList {
  std::vector<ValueId> values;  // kNoValue for None
  bool operator==(const TensorList&) const = default;
};
struct TensorArg {
  ValueId value = kNoValue;
  bool operator==(const TensorArg&) const = default;
};
struct GeneratorArg {
  bool operator==(const GeneratorArg&) const = default;
};
struct None {
  bool operator==(const None&) const = default;
};

using Argument = std::variant<None, TensorArg, TensorList, Scalar, int64_t, bool, DType,
                              std::string, std::vector<int64_t>, std::vector<bool>,
                              std::vector<double>, std::vector<Scalar>, GeneratorArg>;

struct TensorType {
  DType dtype = DType::kF32;
  Dims sizes;
  bool operator==(const TensorType&) const = default;
};

struct Graph;

// Nodes that hold graphs of their own, with PyTorch's meaning (torch.cond, while_loop, scan). Their
// arguments are one TensorList; a region's inputs are bound to values, never to buffers.
enum class Control : uint8_t {
  kNone,
  kIf,     // arguments: predicate, operands. Regions: true, false; both take the operands
  kWhile,  // arguments: the `carried` values, constants. Regions: condition, body; both take all
  kScan,   // arguments: the `carried` values, sequences (along dim 0), constants. One region: takes
           // carried, one element of each sequence, constants; gives carried, then elements
};

// StableHLO from outside: what an operator without a row of the registry computes. Its symbols are
// unlike those of any other Function.
struct Function {
  std::string op;       // "mylib::attention", for errors
  std::string symbol;   // the function to call
  std::string text;     // `func.func private @symbol(...)`, and the functions it calls in turn
  std::string aliases;  // lines that stand before the module (`#x = ...`)
};

struct Node {
  int row = -1;  // index in lower::Registry; -1 for a control node or a function
  Control control = Control::kNone;
  int carried = 0;
  int sequences = 0;  // kScan
  std::vector<std::shared_ptr<const Graph>> regions;
  // One per argument of the row's schema, in order. A Scalar for a tensor: a Python number.
  std::vector<Argument> arguments;
  std::vector<TensorType> results;  // what PyTorch's meta kernel says
  // Instead of a row: the arguments are then its operands, a TensorArg each.
  std::shared_ptr<const Function> function;
};

// A tensor that enters the graph.
struct Input {
  enum class Kind {
    kBuffer,      // a device tensor: a buffer seen through a geometry
    kHostScalar,  // a 0-dim CPU tensor: a run-time scalar, converted on the host
  };
  Kind kind = Kind::kBuffer;
  DType dtype = DType::kF32;         // the tensor's
  Geometry geometry;                 // kBuffer
  DType buffer_dtype = DType::kF32;  // kBuffer: differs after x.view(dtype)
  Dims buffer_dims;                  // kBuffer: the physical shape
  bool wrapped_number = false;       // kHostScalar: a Python number, weakest in promotion
};

// A graph value that leaves: a new buffer, or the new content of an input's storage.
struct Output {
  ValueId value = kNoValue;
  // Position of each logical dim in the buffer, outermost first (empty: as is); the memory format.
  std::vector<int64_t> layout;
  // >= 0: write through this input's geometry into its storage; the whole new storage is the
  // output.
  ValueId written_input = kNoValue;
};

struct Graph {
  // Captured once, run many times (torch.compile): numbers among the arguments are constants of the
  // program, and every result has exactly the type its node says.
  bool captured = false;
  std::vector<Input> inputs;
  std::vector<Node> nodes;
  std::vector<Output> outputs;
};

}  // namespace tpjrt::ir
