#include "lower/registry.h"

#include "base/error.h"
#include "lower/families.h"

namespace tpjrt::lower {
namespace {

std::vector<int> ArgumentsNamed(const Schema& schema, std::string_view names) {
  std::vector<int> indices;
  while (!names.empty()) {
    const size_t comma = names.find(',');
    const std::string_view name = names.substr(0, comma);
    const int index = schema.IndexOf(name);
    Check(index >= 0, "row ", schema.FullName(), " names an argument it does not have: ", name);
    indices.push_back(index);
    names = comma == std::string_view::npos ? std::string_view() : names.substr(comma + 1);
  }
  return indices;
}

std::vector<bool> Flags(const Schema& schema, std::string_view names) {
  std::vector<bool> flags(schema.arguments.size(), false);
  for (int index : ArgumentsNamed(schema, names)) flags[static_cast<size_t>(index)] = true;
  return flags;
}

}  // namespace

const Registry& Registry::Get() {
  static const Registry* registry = new Registry();
  return *registry;
}

Registry::Registry() {
  Add("unary", UnaryRows());
  Add("binary", BinaryRows());
  Add("compare", CompareRows());
  Add("ternary", TernaryRows());
  Add("activation", ActivationRows());
  Add("creation", CreationRows());
  Add("copy", CopyRows());
  Add("reduction", ReductionRows());
  Add("arg_reduction", ArgReductionRows());
  Add("scan", ScanRows());
  Add("sort", SortRows());
  Add("matmul", MatmulRows());
  Add("convolution", ConvolutionRows());
  Add("normalization", NormalizationRows());
  Add("softmax", SoftmaxRows());
  Add("attention", AttentionRows());
  Add("loss", LossRows());
  Add("pooling", PoolingRows());
  Add("resampling", ResamplingRows());
  Add("shape", ShapeRows());
  Add("indexing", IndexRows());
  Add("scatter", ScatterRows());
  Add("random", RandomRows());
  Add("linalg", LinalgRows());
  Add("complex", ComplexRows());
  Add("optimizer", OptimizerRows());
  Add("distance", DistanceRows());
  Add("view", ViewRows());
  Add("factory", FactoryRows());
  Add("foreach", ForeachRows());
  for (RegisteredRow& row : rows_) {
    if (!row.row->traits.each.empty()) LinkEach(row);
  }
}

// Numbers have the traits they have in the row that is applied; lists of them are run-time inputs.
void Registry::LinkEach(RegisteredRow& row) {
  row.each = Find(row.row->traits.each);
  Check(row.each >= 0, "row ", row.schema.FullName(),
        " applies an op without a row: ", row.row->traits.each);
  const RegisteredRow& base = this->row(row.each);
  row.is_special = base.is_special;
  for (size_t i = 0; i < row.schema.arguments.size(); ++i) {
    row.runtime_number[i] = row.schema.arguments[i].kind == ArgType::kScalarList;
    if (i >= base.schema.arguments.size()) continue;
    row.static_scalar[i] = base.static_scalar[i];
    row.special_scalar[i] = base.special_scalar[i];
  }
}

void Registry::Add(std::string_view family, std::span<const Row> rows) {
  for (const Row& row : rows) {
    Schema schema = ParseSchema(row.schema);
    const bool is_new = index_.emplace(schema.FullName(), static_cast<int>(rows_.size())).second;
    Check(is_new, "op ", schema.FullName(), " has two rows");
    Check(row.traits.special_scalars.empty() == (row.traits.is_special == nullptr), "row ",
          schema.FullName(), " must say which values of its special scalars are special");
    RegisteredRow entry{&row,
                        schema,
                        family,
                        Flags(schema, row.traits.static_scalars),
                        Flags(schema, row.traits.special_scalars),
                        row.traits.is_special,
                        Flags(schema, row.traits.runtime_numbers),
                        Flags(schema, row.traits.checked_scalars),
                        ArgumentsNamed(schema, row.traits.also_writes),
                        ArgumentsNamed(schema, row.traits.same_dtype)};
    rows_.push_back(std::move(entry));
  }
}

int Registry::Find(std::string_view full_name) const {
  const auto found = index_.find(std::string(full_name));
  return found == index_.end() ? -1 : found->second;
}

}  // namespace tpjrt::lower
