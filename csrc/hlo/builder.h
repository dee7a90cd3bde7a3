// Builds the text of one StableHLO module: the function `main`, and functions given as text that it
// calls.
//
// Not thread-safe; one builder per program. Functions that append ops live beside their concept:
// elementwise.h, shape.h, reduce.h, index.h, linalg.h, control.h. They use Emit.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hlo/value.h"

namespace tpjrt::hlo {

// The body of a region: receives the block arguments, returns the values of its terminator.
using Region = std::function<std::vector<Value>(Builder&, std::span<const Value>)>;

// `isolated`: the body may use its arguments only (reduce, scatter, sort); otherwise also outer
// values.
struct RegionSpec {
  std::vector<Type> arguments;
  Region body;
  bool isolated = false;
};

// A region already written: its text and the types it returns.
struct RegionText {
  std::string text;
  std::vector<Type> results;
};

class Builder {
 public:
  Builder() = default;
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  // Appends a parameter of main.
  Value Parameter(const Type& type);
  // Marks parameter `index` as a buffer the runtime may reuse for result `result`
  // (tf.aliasing_output).
  void AliasParameter(int index, int result);

  const Type& TypeOf(int32_t id) const { return types_[static_cast<size_t>(id)]; }
  int num_parameters() const { return static_cast<int>(parameters_.size()); }

  // Appends one op in generic form: `"name"(operands) <regions> {attributes} : types`.
  // `attributes` is the text between the braces, e.g. `dimension = 0 : i64`.
  // `properties`-style attributes are not used: the generic form with a plain dictionary parses on
  // every plugin. Throws when an operand is empty, of another builder, or of a region that has
  // ended.
  std::vector<Value> Emit(std::string_view name, std::span<const Value> operands,
                          std::string_view attributes, std::vector<Type> results,
                          std::span<const RegionSpec> regions = {});
  Value Emit1(std::string_view name, std::span<const Value> operands, std::string_view attributes,
              Type result, std::span<const RegionSpec> regions = {});
  // The same in two steps, for ops whose result types come from their regions.
  RegionText EmitRegion(const RegionSpec& region);
  std::vector<Value> EmitWithRegions(std::string_view name, std::span<const Value> operands,
                                     std::string_view attributes, std::vector<Type> results,
                                     std::span<const RegionText> regions);

  // Calls a function given as text. `functions` defines @symbol and what it calls, with symbols of
  // its own; it joins the module once however often it is called, and `aliases` (attribute and type
  // aliases) stand before the module. Only the plugin's compiler reads these texts.
  std::vector<Value> Call(const std::string& symbol, std::string_view functions,
                          std::string_view aliases, std::span<const Value> operands,
                          std::vector<Type> results);

  // A fact about run-time data that the host must hear of: i64[2], {value, limit}; a limit of 0
  // says that all is well, a negative one is a fault of a value. Not inside a region, but where
  // FaultsOf collects them.
  void AddFault(Value fault);
  // The faults added while `body` runs, instead of being the program's: a region hands them out
  // among its results.
  std::vector<Value> FaultsOf(const std::function<void()>& body);
  std::span<const Value> faults() const { return faults_; }

  // Ends the program; returns the module text. The builder takes no more ops after it.
  std::string Finish(std::span<const Value> results);

 private:
  struct ParameterInfo {
    Type type;
    int aliased_result = -1;
  };
  Value NewValue(Type type, int32_t scope);
  void CheckOperands(std::string_view name, std::span<const Value> operands) const;
  std::string Header(std::span<const Value> results) const;

  std::deque<Type> types_;
  std::vector<int32_t> scope_of_;           // the region each value was made in
  std::vector<int32_t> open_scopes_ = {0};  // 0 is main's body
  size_t visible_from_ = 0;                 // first open scope the current region may use
  int32_t next_scope_ = 1;
  std::vector<ParameterInfo> parameters_;
  std::vector<int32_t> parameter_ids_;
  std::string body_;
  std::vector<Value> faults_;
  size_t fault_scopes_ = 1;  // how many scopes are open where faults may be added
  bool finished_ = false;
  std::string aliases_;
  std::string functions_;
  std::map<std::string, std::string, std::less<>> text_of_;  // of each function, by symbol
};

}  // namespace tpjrt::hlo
