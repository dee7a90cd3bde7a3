#include "lower/control_flow.h"

#include "base/error.h"
#include "hlo/control.h"
#include "hlo/elementwise.h"
#include "hlo/shape.h"

namespace tpjrt::lower {
namespace {

using hlo::Builder;
using hlo::Value;
using Values = std::vector<Value>;

// Thrown through the builder's regions to where the node is lowered.
struct UnsupportedRegion {
  std::string reason;
};

Value NoFault(Builder& b) { return hlo::ConstantInt(b, DType::kI64, 0, {2}); }

// A region's results for these inputs, and last the first fault found in it.
Values Lowered(const ir::Graph& graph, Builder& builder, Values bound) {
  ProgramInputs inputs(graph, builder, std::move(bound));
  std::string reason;
  int unsupported = -1;
  const Values faults = builder.FaultsOf([&] { unsupported = LowerNodes(graph, inputs, &reason); });
  if (unsupported >= 0) throw UnsupportedRegion{reason};
  Values results;
  for (const ir::Output& output : graph.outputs) results.push_back(inputs.Get(output.value));
  results.push_back(faults.empty() ? NoFault(builder) : FirstFault(faults));
  return results;
}

void RequireSameTypes(std::span<const Value> next, std::span<const Value> carried) {
  Check(next.size() >= carried.size(), "a region gives fewer values than it carries");
  for (size_t i = 0; i < carried.size(); ++i) {
    Require(next[i].type() == carried[i].type(), "a carried value changes from ",
            hlo::ToString(carried[i].type()), " to ", hlo::ToString(next[i].type()));
  }
}

Value ToPredicate(Value value) { return hlo::Convert(hlo::Reshape(value, {}), DType::kBool); }

Value FirstOf(Value a, Value b) {
  const Value faults[] = {a, b};
  return FirstFault(faults);
}

Values If(const ir::Node& node, const Values& operands) {
  const Values taken(operands.begin() + 1, operands.end());
  const auto branch = [&](size_t i) {
    return [&, i](Builder& b, std::span<const Value>) {
      return Lowered(*node.regions.at(i), b, taken);
    };
  };
  return hlo::If(ToPredicate(operands.at(0)), branch(0), branch(1));
}

Values While(const ir::Node& node, const Values& operands, Builder& builder) {
  const auto carried = static_cast<size_t>(node.carried);
  Values state(operands.begin(), operands.begin() + node.carried);
  state.push_back(NoFault(builder));
  const auto bound = [&](std::span<const Value> arguments) {
    Values values(arguments.begin(), arguments.begin() + node.carried);
    values.insert(values.end(), operands.begin() + node.carried, operands.end());
    return values;
  };
  const auto goes_on = [&](Builder& b, std::span<const Value> arguments) -> Values {
    return {ToPredicate(Lowered(*node.regions.at(0), b, bound(arguments))[0])};
  };
  const auto body = [&](Builder& b, std::span<const Value> arguments) {
    Values next = Lowered(*node.regions.at(1), b, bound(arguments));
    RequireSameTypes(next, arguments.first(carried));
    next.back() = FirstOf(arguments[carried], next.back());
    return next;
  };
  return hlo::While(state, goes_on, body);
}

Values StartsAt(Value index, int64_t rank) {
  Values starts(static_cast<size_t>(rank), hlo::ConstantInt(index.builder(), index.dtype(), 0));
  starts.at(0) = index;
  return starts;
}

Value ElementAt(Value sequence, Value index) {
  hlo::Dims sizes = sequence.dims();
  sizes.at(0) = 1;
  const Value slice = hlo::DynamicSlice(sequence, StartsAt(index, sequence.rank()), sizes);
  return hlo::Squeeze(slice, 0);
}

Value WithElementAt(Value sequence, Value index, Value element) {
  return hlo::DynamicUpdateSlice(sequence, hlo::Unsqueeze(element, 0),
                                 StartsAt(index, sequence.rank()));
}

Values Scan(const ir::Node& node, const Values& operands, Builder& builder) {
  const auto carried = static_cast<size_t>(node.carried);
  const auto sequences = static_cast<size_t>(node.sequences);
  Check(sequences > 0, "a scan over no sequence");
  Values state(operands.begin(), operands.begin() + node.carried);
  for (size_t i = carried; i < node.results.size(); ++i) {
    state.push_back(hlo::Constant(builder, node.results[i].dtype, 0, node.results[i].sizes));
  }
  state.push_back(NoFault(builder));
  const auto body = [&](Builder& b, std::span<const Value> arguments) {
    const Value index = arguments[0];
    const std::span<const Value> now = arguments.subspan(1);
    Values bound(now.begin(), now.begin() + node.carried);
    for (size_t i = 0; i < sequences; ++i) {
      bound.push_back(ElementAt(operands[carried + i], index));
    }
    bound.insert(bound.end(), operands.begin() + node.carried + node.sequences, operands.end());
    const Values given = Lowered(*node.regions.at(0), b, std::move(bound));
    RequireSameTypes(given, now.first(carried));
    Values next(given.begin(), given.begin() + node.carried);
    for (size_t i = carried; i + 1 < given.size(); ++i) {
      next.push_back(WithElementAt(now[i], index, given[i]));
    }
    next.push_back(FirstOf(now.back(), given.back()));
    return next;
  };
  return hlo::ForLoop(builder, operands.at(carried).dim(0), state, body);
}

Values Results(const ir::Node& node, const Values& operands, Builder& builder) {
  if (node.control == ir::Control::kIf) return If(node, operands);
  if (node.control == ir::Control::kWhile) return While(node, operands, builder);
  return Scan(node, operands, builder);
}

void CheckTypes(const ir::Node& node, const Values& results) {
  Check(results.size() == node.results.size(), "control flow gives ", results.size(), " values, ",
        node.results.size(), " are expected");
  for (size_t i = 0; i < results.size(); ++i) {
    const hlo::Type expected{node.results[i].dtype, node.results[i].sizes};
    Check(results[i].type() == expected, "control flow result ", i, " is ",
          hlo::ToString(results[i].type()), ", PyTorch says ", hlo::ToString(expected));
  }
}

}  // namespace

bool LowerControl(const ir::Node& node, ProgramInputs& inputs, std::string* reason) {
  Values operands;
  for (const ir::ValueId id : std::get<ir::TensorList>(node.arguments.at(0)).values) {
    operands.push_back(inputs.Get(id));
  }
  try {
    Values results = Results(node, operands, inputs.builder());
    inputs.builder().AddFault(results.back());
    results.pop_back();
    CheckTypes(node, results);
    for (const Value& result : results) inputs.SetResult(result);
    return true;
  } catch (const UnsupportedRegion& region) {
    *reason = region.reason;
    return false;
  }
}

hlo::Value FirstFault(std::span<const hlo::Value> faults) {
  Value first = faults.front();
  for (const Value& fault : faults.subspan(1)) {
    const Value limit = hlo::Squeeze(hlo::SliceDim(first, 0, 1, 2), 0);
    first = hlo::Select(hlo::Ne(limit, 0.0), first, fault);
  }
  return first;
}

}  // namespace tpjrt::lower
