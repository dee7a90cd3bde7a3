#include "hlo/control.h"

#include "hlo/elementwise.h"
#include "hlo/text.h"

namespace tpjrt::hlo {
namespace {

std::vector<Type> TypesOf(std::span<const Value> values) {
  std::vector<Type> types;
  for (const Value& value : values) types.push_back(value.type());
  return types;
}

}  // namespace

std::vector<Value> While(std::span<const Value> init, const Region& cond, const Region& body) {
  const std::string_view op = "stablehlo.while";
  Require(!init.empty(), op, ": needs at least one state value");
  Builder& b = init[0].builder();
  const std::vector<Type> types = TypesOf(init);
  const std::vector<RegionText> regions = {b.EmitRegion({types, cond}),
                                           b.EmitRegion({types, body})};
  RequireOperands(regions[0].results == std::vector<Type>{{DType::kBool, {}}}, op, init,
                  "the condition must return one bool");
  RequireOperands(regions[1].results == types, op, init, "the body must return the state's types");
  return b.EmitWithRegions(op, init, "", types, regions);
}

std::vector<Value> ForLoop(Builder& b, int64_t count, std::span<const Value> init,
                           const Region& body) {
  if (count <= 0) return {init.begin(), init.end()};
  std::vector<Value> state = {ConstantInt(b, DType::kI32, 0)};
  state.insert(state.end(), init.begin(), init.end());
  std::vector<Value> results = While(
      state,
      [count](Builder& b, std::span<const Value> args) -> std::vector<Value> {
        return {Lt(args[0], ConstantInt(b, DType::kI32, count))};
      },
      [&body](Builder& b, std::span<const Value> args) {
        std::vector<Value> next = body(b, args);
        next.insert(next.begin(), args[0] + ConstantInt(b, DType::kI32, 1));
        return next;
      });
  results.erase(results.begin());
  return results;
}

std::vector<Value> If(Value predicate, const Region& on_true, const Region& on_false) {
  const std::string_view op = "stablehlo.if";
  RequireOperands(predicate.type() == Type{DType::kBool, {}}, op, std::vector<Value>{predicate},
                  "the predicate must be one bool");
  Builder& b = predicate.builder();
  const std::vector<RegionText> regions = {b.EmitRegion({{}, on_true}),
                                           b.EmitRegion({{}, on_false})};
  RequireOperands(regions[0].results == regions[1].results, op, std::vector<Value>{predicate},
                  "both branches must return the same types");
  return b.EmitWithRegions(op, std::vector<Value>{predicate}, "", regions[0].results, regions);
}

}  // namespace tpjrt::hlo
