#include "hlo/builder.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "hlo/text.h"

namespace tpjrt::hlo {
namespace {

std::string ValueName(int32_t id) { return "%" + std::to_string(id); }

std::string Names(std::span<const Value> values) {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += ", ";
    text += ValueName(values[i].id());
  }
  return text;
}

std::string Types(std::span<const Value> values) {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += ", ";
    text += ToHlo(values[i].type());
  }
  return text;
}

}  // namespace

Value Builder::NewValue(Type type, int32_t scope) {
  types_.push_back(std::move(type));
  scope_of_.push_back(scope);
  return Value(this, static_cast<int32_t>(types_.size()) - 1);
}

Value Builder::Parameter(const Type& type) {
  Check(!finished_, "parameter added to a finished program");
  const Value value = NewValue(type, 0);
  parameters_.push_back({type});
  parameter_ids_.push_back(value.id());
  return value;
}

void Builder::AliasParameter(int index, int result) {
  parameters_.at(static_cast<size_t>(index)).aliased_result = result;
}

void Builder::CheckOperands(std::string_view name, std::span<const Value> operands) const {
  Check(!finished_, name, " added to a finished program");
  for (const Value& operand : operands) {
    Check(operand.valid(), name, ": an operand is empty");
    Check(&operand.builder() == this, name, ": an operand belongs to another program");
    const int32_t scope = scope_of_[static_cast<size_t>(operand.id())];
    const auto visible = open_scopes_.begin() + static_cast<std::ptrdiff_t>(visible_from_);
    Check(std::find(visible, open_scopes_.end(), scope) != open_scopes_.end(), name,
          ": an operand was made in a region that has ended or outside this isolated one");
  }
}

RegionText Builder::EmitRegion(const RegionSpec& region) {
  const int32_t scope = next_scope_++;
  std::vector<Value> arguments;
  std::string text = "{\n^bb0(";
  for (const Type& type : region.arguments) {
    if (!arguments.empty()) text += ", ";
    arguments.push_back(NewValue(type, scope));
    text += StrCat(ValueName(arguments.back().id()), ": ", ToHlo(type));
  }
  if (arguments.empty())
    text.resize(2);
  else
    text += "):\n";

  std::string outer = std::exchange(body_, {});
  const size_t outer_visible = visible_from_;
  open_scopes_.push_back(scope);
  if (region.isolated) visible_from_ = open_scopes_.size() - 1;
  const std::vector<Value> results = region.body(*this, arguments);
  CheckOperands("stablehlo.return", results);
  open_scopes_.pop_back();
  visible_from_ = outer_visible;
  text += std::exchange(body_, std::move(outer));
  text += StrCat("\"stablehlo.return\"(", Names(results), ") : (", Types(results), ") -> ()\n}");

  RegionText out{std::move(text), {}};
  for (const Value& result : results) out.results.push_back(result.type());
  return out;
}

std::vector<Value> Builder::EmitWithRegions(std::string_view name, std::span<const Value> operands,
                                            std::string_view attributes, std::vector<Type> results,
                                            std::span<const RegionText> regions) {
  CheckOperands(name, operands);
  std::vector<Value> values;
  for (Type& type : results) values.push_back(NewValue(std::move(type), open_scopes_.back()));
  if (!values.empty()) body_ += Names(values) + " = ";
  body_ += StrCat("\"", name, "\"(", Names(operands), ")");
  for (size_t i = 0; i < regions.size(); ++i) body_ += (i == 0 ? " (" : ", ") + regions[i].text;
  if (!regions.empty()) body_ += ")";
  if (!attributes.empty()) body_ += StrCat(" {", attributes, "}");
  body_ += StrCat(" : (", Types(operands), ") -> ");
  body_ += values.size() == 1 ? Types(values) : StrCat("(", Types(values), ")");
  body_ += "\n";
  return values;
}

std::vector<Value> Builder::Emit(std::string_view name, std::span<const Value> operands,
                                 std::string_view attributes, std::vector<Type> results,
                                 std::span<const RegionSpec> regions) {
  std::vector<RegionText> texts;
  for (const RegionSpec& region : regions) texts.push_back(EmitRegion(region));
  return EmitWithRegions(name, operands, attributes, std::move(results), texts);
}

Value Builder::Emit1(std::string_view name, std::span<const Value> operands,
                     std::string_view attributes, Type result,
                     std::span<const RegionSpec> regions) {
  return Emit(name, operands, attributes, {std::move(result)}, regions)[0];
}

std::vector<Value> Builder::Call(const std::string& symbol, std::string_view functions,
                                 std::string_view aliases, std::span<const Value> operands,
                                 std::vector<Type> results) {
  const auto [known, is_new] = text_of_.try_emplace(symbol, functions);
  Require(known->second == functions, "two functions named @", symbol, " in one program");
  if (is_new) {
    aliases_ += aliases;
    functions_ += functions;
  }
  return Emit("func.call", operands, StrCat("callee = @", symbol), std::move(results));
}

std::string Builder::Header(std::span<const Value> results) const {
  std::string text = aliases_ + "module @program {\nfunc.func public @main(";
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const ParameterInfo& parameter = parameters_[i];
    if (i > 0) text += ", ";
    text += StrCat(ValueName(parameter_ids_[i]), ": ", ToHlo(parameter.type));
    if (parameter.aliased_result < 0) continue;
    Check(static_cast<size_t>(parameter.aliased_result) < results.size(),
          "parameter aliases a result that does not exist");
    text += StrCat(" {tf.aliasing_output = ", parameter.aliased_result, " : i32}");
  }
  return text + StrCat(") -> (", Types(results), ") {\n");
}

void Builder::AddFault(Value fault) {
  Check(open_scopes_.size() == fault_scopes_, "a fault cannot leave the region it was found in");
  Check(fault.type() == Type{DType::kI64, {2}}, "a fault is int64[2], got ",
        ToString(fault.type()));
  faults_.push_back(fault);
}

std::vector<Value> Builder::FaultsOf(const std::function<void()>& body) {
  std::vector<Value> outer = std::exchange(faults_, {});
  const size_t outer_scopes = std::exchange(fault_scopes_, open_scopes_.size());
  body();
  fault_scopes_ = outer_scopes;
  return std::exchange(faults_, std::move(outer));
}

std::string Builder::Finish(std::span<const Value> results) {
  CheckOperands("func.return", results);
  finished_ = true;
  std::string text = Header(results) + body_ + "\"func.return\"(" + Names(results) + ") : (" +
                     Types(results) + ") -> ()\n}\n" + functions_ + "}\n";
  body_.clear();
  return text;
}

}  // namespace tpjrt::hlo
