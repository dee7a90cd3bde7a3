// All rows with their parsed schemas, built on first use from the families' tables, then read-only.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lower/row.h"
#include "lower/schema.h"

namespace tpjrt::lower {

struct RegisteredRow {
  const Row* row;
  Schema schema;
  std::string_view family;
  std::vector<bool> static_scalar;   // per argument
  std::vector<bool> special_scalar;  // per argument
  IsSpecialFn is_special;
  std::vector<bool> runtime_number;  // per argument
  std::vector<bool> checked_scalar;  // per argument
  std::vector<int> also_writes;      // argument indices
  std::vector<int> same_dtype;       // argument indices
  int each = -1;                     // the row of traits.each

  // Whether a Scalar or float argument with this value is part of the program.
  bool IsStatic(size_t argument, double value) const {
    return static_scalar[argument] || (special_scalar[argument] && is_special(value));
  }
};

class Registry {
 public:
  static const Registry& Get();

  const std::vector<RegisteredRow>& rows() const { return rows_; }
  const RegisteredRow& row(int index) const { return rows_.at(static_cast<size_t>(index)); }
  int Find(std::string_view full_name) const;  // "add.Tensor"; -1 when there is no row

 private:
  Registry();
  void Add(std::string_view family, std::span<const Row> rows);
  void LinkEach(RegisteredRow& row);
  std::vector<RegisteredRow> rows_;
  std::unordered_map<std::string, int> index_;
};

}  // namespace tpjrt::lower
