#include "lower/linear_map.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "hlo/elementwise.h"
#include "hlo/index.h"
#include "hlo/reduce.h"
#include "hlo/shape.h"

namespace tpjrt::lower {

using hlo::Dims;
using hlo::Value;

namespace {

// The map as dense [outputs, width] tables; absent terms read element 0 and are masked.
struct Tables {
  int64_t width = 0;
  std::vector<int64_t> source, present;
  std::vector<double> weight;
  bool all_present = true, all_ones = true;
};

Tables Tabulate(const LinearMap& map) {
  Tables t;
  for (const auto& row : map.rows) t.width = std::max<int64_t>(t.width, std::ssize(row));
  for (const auto& row : map.rows) {
    for (int64_t j = 0; j < t.width; ++j) {
      const bool present = j < std::ssize(row);
      const auto term = present ? row[static_cast<size_t>(j)] : LinearMap::Term{0, 1};
      t.source.push_back(term.source);
      t.weight.push_back(term.weight);
      t.present.push_back(present);
      t.all_present = t.all_present && present;
      t.all_ones = t.all_ones && term.weight == 1;
    }
  }
  return t;
}

}  // namespace

Value ConstantFloats(hlo::Builder& b, DType dtype, const std::vector<double>& values,
                     const Dims& dims) {
  std::vector<int64_t> bits;
  bits.reserve(values.size());
  if (dtype == DType::kF32) {
    for (double v : values) bits.push_back(std::bit_cast<uint32_t>(static_cast<float>(v)));
    return hlo::BitcastConvert(hlo::ConstantList(b, DType::kU32, bits, dims), dtype);
  }
  Check(dtype == DType::kF64, "constant lists of ", Name(dtype));
  for (double v : values) bits.push_back(std::bit_cast<int64_t>(v));
  return hlo::BitcastConvert(hlo::ConstantList(b, DType::kI64, bits, dims), dtype);
}

LinearMap Transposed(const LinearMap& map) {
  LinearMap result;
  result.inputs = map.outputs();
  result.rows.resize(static_cast<size_t>(map.inputs));
  for (int64_t o = 0; o < map.outputs(); ++o) {
    for (const auto& term : map.rows[static_cast<size_t>(o)]) {
      result.rows[static_cast<size_t>(term.source)].push_back({o, term.weight});
    }
  }
  return result;
}

Value Apply(const LinearMap& map, Value x, int64_t dim) {
  hlo::Builder& b = x.builder();
  const Tables t = Tabulate(map);
  Dims dims = x.dims();
  dims[static_cast<size_t>(dim)] = map.outputs();
  if (t.width == 0 || x.num_elements() == 0 || map.outputs() == 0) {
    return hlo::Constant(b, x.dtype(), 0, dims);
  }
  const Dims table_dims = {map.outputs(), t.width};
  Value read = hlo::TakeDim(x, hlo::ConstantList(b, DType::kI32, t.source, table_dims), dim);
  const Dims mapping = {dim, dim + 1};
  if (!t.all_ones) {
    Value weight = ConstantFloats(b, x.dtype(), t.weight, table_dims);
    read = read * hlo::BroadcastInDim(weight, read.dims(), mapping);
  }
  if (!t.all_present) {
    Value present =
        hlo::Convert(hlo::ConstantList(b, DType::kI32, t.present, table_dims), DType::kBool);
    read =
        hlo::Select(hlo::BroadcastInDim(present, read.dims(), mapping), read, hlo::ZerosLike(read));
  }
  return t.width == 1 ? hlo::Squeeze(read, dim + 1) : hlo::ReduceSum(read, {dim + 1});
}

}  // namespace tpjrt::lower
