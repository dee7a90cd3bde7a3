// What a lowering sees of the op it lowers: arguments by their schema name, and the result types
// PyTorch expects. One Context per node and lowering; not thread-safe.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hlo/builder.h"
#include "ir/node.h"

namespace tpjrt::lower {

using hlo::Dims;
using hlo::Type;
using hlo::Value;

enum class ScalarKind { kBool, kInt, kFloat, kComplex };

class Context {
 public:
  virtual ~Context() = default;

  virtual hlo::Builder& builder() = 0;

  // False for a None or absent optional argument (tensor, scalar, int, list, ...).
  virtual bool Has(std::string_view name) = 0;

  // --- Tensors. Values have the tensor's logical sizes (views already applied).
  // The tensor in its own dtype.
  virtual Value Tensor(std::string_view name) = 0;
  // The tensor converted to dtype (PyTorch's conversion). Prefer this to Tensor + Convert: a CPU
  // scalar
  // ("wrapped number") is then uploaded in that dtype instead of float64.
  virtual Value TensorAs(std::string_view name, DType dtype) = 0;
  // Type without creating anything.
  virtual Type TensorType(std::string_view name) = 0;
  // A list of tensors; an entry of Tensor?[] that is None is an invalid Value.
  virtual std::vector<Value> TensorList(std::string_view name) = 0;
  virtual std::vector<Value> TensorListAs(std::string_view name, DType dtype) = 0;

  // --- Scalar arguments: schema types Scalar and float (and int where named run-time by the row).
  // A run-time input, rank 0, converted on the host to dtype: changing the number compiles nothing.
  // Not for rows that list the argument as static.
  virtual Value Scalar(std::string_view name, DType dtype) = 0;
  // The same for one entry of an int[] or Scalar[] that the row lists as run-time.
  virtual Value ScalarAt(std::string_view name, size_t entry, DType dtype) = 0;
  virtual ScalarKind KindOf(std::string_view name) = 0;
  // Whether the number is part of the program: always where the row lists it as static and in
  // captured graphs, for special values where the row lists it as special.
  virtual bool IsStatic(std::string_view name) = 0;
  // The number itself; only where it is static.
  virtual double StaticDouble(std::string_view name) = 0;
  virtual int64_t StaticInt(std::string_view name) = 0;
  // Whether the number is known to be `value`.
  bool Is(std::string_view name, double value) {
    return IsStatic(name) && StaticDouble(name) == value;
  }

  // --- Static arguments (int, int[], bool, dtype, str): part of the program's key.
  virtual int64_t Int(std::string_view name) = 0;
  virtual bool Bool(std::string_view name) = 0;
  virtual Dims Ints(std::string_view name) = 0;
  virtual std::vector<bool> Bools(std::string_view name) = 0;
  virtual std::string String(std::string_view name) = 0;
  virtual DType Dtype(std::string_view name) = 0;

  // --- Random state of a Generator? argument: u64 rank-0 run-time inputs.
  virtual Value Seed() = 0;
  virtual Value Offset() = 0;

  // --- Results, as PyTorch's meta kernel says.
  virtual int num_results() = 0;
  virtual const Type& Result(int i = 0) = 0;

  // The promoted type of these tensor arguments, scalar arguments and tensor lists
  // (torch.result_type: dimensioned tensors before 0-dim tensors before wrapped numbers and
  // Scalars).
  virtual DType Promoted(std::span<const std::string_view> names) = 0;
  DType Promoted(std::initializer_list<std::string_view> names) {
    return Promoted(std::span<const std::string_view>(names.begin(), names.size()));
  }

  // A dim argument made non-negative; rank 0 counts as rank 1.
  static int64_t WrapDim(int64_t dim, int64_t rank) {
    return dim < 0 ? dim + (rank == 0 ? 1 : rank) : dim;
  }
};

}  // namespace tpjrt::lower
