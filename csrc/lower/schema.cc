#include "lower/schema.h"

#include <array>
#include <cctype>
#include <utility>

#include "base/error.h"

namespace tpjrt::lower {
namespace {

std::string_view Trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())))
    text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
    text.remove_suffix(1);
  return text;
}

// Splits at top-level commas: not inside brackets or quotes.
std::vector<std::string_view> SplitTopLevel(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  bool quoted = false;
  size_t start = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' || c == '\'') quoted = !quoted;
    if (quoted) continue;
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c == ',' && depth == 0) {
      parts.push_back(Trim(text.substr(start, i - start)));
      start = i + 1;
    }
  }
  if (const auto last = Trim(text.substr(start)); !last.empty()) parts.push_back(last);
  return parts;
}

// Removes an alias annotation "(a!)" and tells whether it marks a write.
std::string StripAlias(std::string_view type, bool* written) {
  std::string plain;
  for (size_t i = 0; i < type.size(); ++i) {
    if (type[i] != '(') {
      plain += type[i];
      continue;
    }
    const size_t close = type.find(')', i);
    Require(close != std::string_view::npos, "bad alias annotation in type '", type, "'");
    if (type.substr(i, close - i).find('!') != std::string_view::npos) *written = true;
    i = close;
  }
  return plain;
}

bool IsList(std::string_view* type) {
  const size_t open = type->rfind('[');
  if (open == std::string_view::npos || type->back() != ']') return false;
  *type = type->substr(0, open);
  return true;
}

ArgType KindOf(std::string_view type, bool* optional) {
  if (!type.empty() && type.back() == '?') {
    *optional = true;
    type.remove_suffix(1);
  }
  const bool list = IsList(&type);
  if (list && !type.empty() && type.back() == '?') type.remove_suffix(1);  // Tensor?[]
  static constexpr std::array<std::pair<std::string_view, std::pair<ArgType, ArgType>>, 9> kKinds =
      {{
          {"Tensor", {ArgType::kTensor, ArgType::kTensorList}},
          {"Scalar", {ArgType::kScalar, ArgType::kScalarList}},
          {"float", {ArgType::kFloat, ArgType::kFloatList}},
          {"int", {ArgType::kInt, ArgType::kIntList}},
          {"SymInt", {ArgType::kInt, ArgType::kIntList}},
          {"bool", {ArgType::kBool, ArgType::kBoolList}},
          {"ScalarType", {ArgType::kDType, ArgType::kOther}},
          {"str", {ArgType::kString, ArgType::kOther}},
          {"Generator", {ArgType::kGenerator, ArgType::kOther}},
      }};
  for (const auto& [name, kinds] : kKinds) {
    if (name == type) return list ? kinds.second : kinds.first;
  }
  return ArgType::kOther;
}

SchemaArg ParseArgument(std::string_view text, bool keyword_only) {
  SchemaArg argument;
  argument.keyword_only = keyword_only;
  // The default value may hold spaces only inside quotes or brackets, after '='.
  const std::string_view declaration = text.substr(0, text.find('='));
  const size_t space = declaration.rfind(' ');
  Require(space != std::string_view::npos, "bad argument '", text, "' in a schema");
  argument.name = std::string(declaration.substr(space + 1));
  argument.type = StripAlias(Trim(declaration.substr(0, space)), &argument.written);
  argument.kind = KindOf(argument.type, &argument.optional);
  argument.is_out = keyword_only && argument.written;
  return argument;
}

void ParseResults(std::string_view text, Schema* schema) {
  if (text == "()") return;
  const bool tuple = text.size() > 1 && text.front() == '(' && text.back() == ')';
  for (std::string_view part : SplitTopLevel(tuple ? text.substr(1, text.size() - 2) : text)) {
    bool written = false;
    const std::string type = StripAlias(part, &written);
    schema->returns_list |= type.rfind("Tensor[]", 0) == 0;
    schema->result_written.push_back(written);
    ++schema->num_results;
  }
  Require(!schema->returns_list || schema->num_results == 1,
          "a list of tensors beside other results is not supported: '", text, "'");
}

}  // namespace

int Schema::IndexOf(std::string_view argument) const {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name == argument) return static_cast<int>(i);
  }
  return -1;
}

std::string Schema::FullName() const { return overload.empty() ? name : name + "." + overload; }

Schema ParseSchema(std::string_view text) {
  const size_t open = text.find('(');
  const size_t arrow = text.rfind("->");
  Require(open != std::string_view::npos && arrow != std::string_view::npos, "bad schema '", text,
          "'");
  const size_t close = text.rfind(')', arrow);
  Require(close != std::string_view::npos && close > open, "bad schema '", text, "'");

  Schema schema;
  std::string_view name = Trim(text.substr(0, open));
  if (const size_t colons = name.find("::"); colons != std::string_view::npos)
    name.remove_prefix(colons + 2);
  const size_t dot = name.find('.');
  schema.name = std::string(name.substr(0, dot));
  if (dot != std::string_view::npos) schema.overload = std::string(name.substr(dot + 1));

  bool keyword_only = false;
  for (std::string_view part : SplitTopLevel(text.substr(open + 1, close - open - 1))) {
    if (part == "*") {
      keyword_only = true;
      continue;
    }
    schema.arguments.push_back(ParseArgument(part, keyword_only));
  }
  ParseResults(Trim(text.substr(arrow + 2)), &schema);
  return schema;
}

}  // namespace tpjrt::lower
