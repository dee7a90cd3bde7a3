#include "hlo/reduce.h"

#include <algorithm>

#include "hlo/elementwise.h"
#include "hlo/shape.h"
#include "hlo/text.h"

namespace tpjrt::hlo {
namespace {

using BinaryFn = Value (*)(Value, Value);

// inputs of equal dims, one rank-0 init of the same dtype for each.
void CheckInputs(std::string_view op, std::span<const Value> inputs, std::span<const Value> inits) {
  Require(!inputs.empty(), op, ": no operands");
  RequireOperands(inputs.size() == inits.size(), op, inputs, "needs one init per input");
  for (size_t i = 0; i < inputs.size(); ++i) {
    RequireOperands(inputs[i].dims() == inputs[0].dims(), op, inputs,
                    "inputs must have equal dims");
    RequireOperands(inits[i].type() == Type{inputs[i].dtype(), {}}, op,
                    std::vector<Value>{inputs[i], inits[i]}, "init must be a scalar of the input");
  }
}

std::vector<Type> ScalarPairs(std::span<const Value> inputs) {
  std::vector<Type> types;
  for (int side = 0; side < 2; ++side) {
    for (const Value& input : inputs) types.push_back({input.dtype(), {}});
  }
  return types;
}

std::vector<Value> EmitReduction(std::string_view op, std::span<const Value> inputs,
                                 std::span<const Value> inits, const std::string& attributes,
                                 const Dims& dims, const Region& body) {
  Builder& b = inputs[0].builder();
  const RegionText region = b.EmitRegion({ScalarPairs(inputs), body, true});
  std::vector<Type> results;
  std::vector<Type> scalars;
  for (const Value& init : inits) {
    results.push_back({init.dtype(), dims});
    scalars.push_back(init.type());
  }
  RequireOperands(region.results == scalars, op, inputs, "the body must return the inits' types");
  std::vector<Value> operands(inputs.begin(), inputs.end());
  operands.insert(operands.end(), inits.begin(), inits.end());
  return b.EmitWithRegions(op, operands, attributes, results, std::vector<RegionText>{region});
}

std::vector<Value> BroadcastAll(std::span<const Value> inits, const Dims& dims) {
  std::vector<Value> out;
  for (const Value& init : inits) out.push_back(BroadcastTo(init, dims));
  return out;
}

Value Monoid(Value x, Value init, const Dims& dims, BinaryFn combine) {
  return Reduce(std::vector<Value>{x}, std::vector<Value>{init}, dims,
                [combine](Builder&, std::span<const Value> args) -> std::vector<Value> {
                  return {combine(args[0], args[1])};
                })[0];
}

}  // namespace

std::vector<Value> Reduce(std::span<const Value> inputs, std::span<const Value> inits,
                          const Dims& dims, const Region& body) {
  const std::string_view op = "stablehlo.reduce";
  CheckInputs(op, inputs, inits);
  Dims sorted = dims;
  std::ranges::sort(sorted);
  RequireOperands(std::ranges::adjacent_find(sorted) == sorted.end() &&
                      (sorted.empty() || (sorted[0] >= 0 && sorted.back() < inputs[0].rank())),
                  op, inputs, StrCat("cannot reduce the dims ", ToString(dims)));
  if (dims.empty()) return {inputs.begin(), inputs.end()};
  Dims kept;
  for (int64_t i = 0; i < inputs[0].rank(); ++i) {
    if (!std::ranges::binary_search(sorted, i)) kept.push_back(inputs[0].dim(i));
  }
  if (inputs[0].num_elements() == 0) return BroadcastAll(inits, kept);
  return EmitReduction(op, inputs, inits, "dimensions = " + I64Array(sorted), kept, body);
}

Value ReduceSum(Value x, const Dims& dims) {
  return Monoid(x, Constant(x.builder(), x.dtype(), 0), dims, operator+);
}
Value ReduceProd(Value x, const Dims& dims) {
  return Monoid(x, Constant(x.builder(), x.dtype(), 1), dims, operator*);
}
Value ReduceMax(Value x, const Dims& dims) {
  return Monoid(x, LowestValue(x.builder(), x.dtype()), dims, Max);
}
Value ReduceMin(Value x, const Dims& dims) {
  return Monoid(x, HighestValue(x.builder(), x.dtype()), dims, Min);
}
Value ReduceAnd(Value x, const Dims& dims) {
  const int64_t ones = x.dtype() == DType::kBool ? 1 : -1;
  Builder& b = x.builder();
  const Value init =
      IsUnsigned(x.dtype()) ? HighestValue(b, x.dtype()) : ConstantInt(b, x.dtype(), ones);
  return Monoid(x, init, dims, And);
}
Value ReduceOr(Value x, const Dims& dims) {
  return Monoid(x, ConstantInt(x.builder(), x.dtype(), 0), dims, Or);
}

Value KeepDims(Value reduced, const Dims& original, const Dims& dims) {
  Dims kept = original;
  for (int64_t dim : dims) kept.at(static_cast<size_t>(dim)) = 1;
  return Reshape(reduced, kept);
}

Window Window::Unit(int64_t rank) {
  const Dims ones(static_cast<size_t>(rank), 1);
  const Dims zeros(static_cast<size_t>(rank), 0);
  return {ones, ones, ones, ones, zeros, zeros};
}

namespace {

void CheckWindow(std::string_view op, Value x, const Window& w) {
  for (const Dims* list :
       {&w.sizes, &w.strides, &w.base_dilations, &w.window_dilations, &w.low, &w.high}) {
    RequireOperands(static_cast<int64_t>(list->size()) == x.rank(), op, std::vector<Value>{x},
                    "the window needs one entry per dim");
  }
  for (size_t i = 0; i < w.sizes.size(); ++i) {
    RequireOperands(
        w.sizes[i] > 0 && w.strides[i] > 0 && w.base_dilations[i] > 0 && w.window_dilations[i] > 0,
        op, std::vector<Value>{x}, "window sizes, strides and dilations must be > 0");
  }
}

Dims WindowedDims(const Dims& dims, const Window& w) {
  Dims out;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t base = dims[i] == 0 ? 0 : (dims[i] - 1) * w.base_dilations[i] + 1;
    const int64_t padded = base + w.low[i] + w.high[i];
    const int64_t window = (w.sizes[i] - 1) * w.window_dilations[i] + 1;
    out.push_back(padded < window ? 0 : (padded - window) / w.strides[i] + 1);
  }
  return out;
}

Value WindowMonoid(Value x, Value init, const Window& window, BinaryFn combine) {
  return ReduceWindow(std::vector<Value>{x}, std::vector<Value>{init}, window,
                      [combine](Builder&, std::span<const Value> args) -> std::vector<Value> {
                        return {combine(args[0], args[1])};
                      })[0];
}

}  // namespace

std::vector<Value> ReduceWindow(std::span<const Value> inputs, std::span<const Value> inits,
                                const Window& window, const Region& body) {
  const std::string_view op = "stablehlo.reduce_window";
  CheckInputs(op, inputs, inits);
  CheckWindow(op, inputs[0], window);
  const Dims dims = WindowedDims(inputs[0].dims(), window);
  if (inputs[0].num_elements() == 0 || NumElements(dims) == 0) return BroadcastAll(inits, dims);
  const std::string attributes = StrCat("window_dimensions = ", I64Array(window.sizes),
                                        ", window_strides = ", I64Array(window.strides),
                                        ", base_dilations = ", I64Array(window.base_dilations),
                                        ", window_dilations = ", I64Array(window.window_dilations),
                                        ", padding = ", PairTable(window.low, window.high));
  if (inputs[0].rank() == 0) {
    std::vector<Value> flat;
    for (const Value& input : inputs) flat.push_back(Reshape(input, {1}));
    std::vector<Value> results = ReduceWindow(flat, inits, Window::Unit(1), body);
    for (Value& result : results) result = Reshape(result, {});
    return results;
  }
  return EmitReduction(op, inputs, inits, attributes, dims, body);
}

Value ReduceWindowSum(Value x, const Window& window) {
  return WindowMonoid(x, Constant(x.builder(), x.dtype(), 0), window, operator+);
}
Value ReduceWindowMax(Value x, const Window& window) {
  return WindowMonoid(x, LowestValue(x.builder(), x.dtype()), window, Max);
}

Value SelectAndScatterMax(Value operand, Value source, const Window& window) {
  const std::string_view op = "stablehlo.select_and_scatter";
  const std::vector<Value> pair = {operand, source};
  CheckWindow(op, operand, window);
  RequireOperands(
      operand.dtype() == source.dtype() && source.dims() == WindowedDims(operand.dims(), window),
      op, pair, "the source must have one element per window");
  const Dims ones(window.sizes.size(), 1);
  RequireOperands(window.base_dilations == ones && window.window_dilations == ones, op, pair,
                  "dilations are not supported");
  if (source.num_elements() == 0 || operand.num_elements() == 0) return ZerosLike(operand);
  Builder& b = operand.builder();
  const Type scalar{operand.dtype(), {}};
  const std::vector<RegionSpec> regions = {
      {{scalar, scalar},
       [](Builder&, std::span<const Value> args) -> std::vector<Value> {
         return {Or(Ge(args[0], args[1]), IsNan(args[0]))};
       }},
      {{scalar, scalar}, [](Builder&, std::span<const Value> args) -> std::vector<Value> {
         return {args[0] + args[1]};
       }}};
  return b.Emit1(op, std::vector<Value>{operand, source, Constant(b, operand.dtype(), 0)},
                 StrCat("window_dimensions = ", I64Array(window.sizes),
                        ", window_strides = ", I64Array(window.strides),
                        ", padding = ", PairTable(window.low, window.high)),
                 operand.type(), regions);
}

std::vector<Value> Sort(std::span<const Value> operands, int64_t dim, bool stable,
                        const Region& less) {
  const std::string_view op = "stablehlo.sort";
  Require(!operands.empty(), op, ": no operands");
  std::vector<Type> arguments;
  std::vector<Type> results;
  for (const Value& operand : operands) {
    RequireOperands(operand.dims() == operands[0].dims() && dim >= 0 && dim < operand.rank(), op,
                    operands, StrCat("operands must have equal dims and a dim ", dim));
    arguments.insert(arguments.end(), 2, Type{operand.dtype(), {}});
    results.push_back(operand.type());
  }
  if (operands[0].dim(dim) <= 1 || operands[0].num_elements() == 0) {
    return {operands.begin(), operands.end()};
  }
  Builder& b = operands[0].builder();
  const RegionText region = b.EmitRegion({arguments, less, true});
  RequireOperands(region.results == std::vector<Type>{{DType::kBool, {}}}, op, operands,
                  "the comparator must return one bool");
  return b.EmitWithRegions(op, operands,
                           StrCat("dimension = ", dim, " : i64, is_stable = ", BoolText(stable)),
                           results, std::vector<RegionText>{region});
}

}  // namespace tpjrt::hlo
