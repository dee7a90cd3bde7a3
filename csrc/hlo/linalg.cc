#include "hlo/linalg.h"

#include <algorithm>

#include "hlo/elementwise.h"
#include "hlo/text.h"

namespace tpjrt::hlo {
namespace {

std::string PrecisionConfig(Precision precision) {
  const std::string_view name = precision == Precision::kHighest ? "HIGHEST"
                                : precision == Precision::kHigh  ? "HIGH"
                                                                 : "DEFAULT";
  return StrCat("precision_config = [#stablehlo<precision ", name, ">, #stablehlo<precision ", name,
                ">]");
}

size_t Index(int64_t i) { return static_cast<size_t>(i); }

// The dims of x that are neither batch nor contracted.
Dims FreeDims(Value x, const Dims& batch, const Dims& contract) {
  Dims out;
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (std::ranges::find(batch, i) != batch.end()) continue;
    if (std::ranges::find(contract, i) != contract.end()) continue;
    out.push_back(x.dim(i));
  }
  return out;
}

void RequireSquare(std::string_view op, Value x) {
  RequireOperands((IsFloat(x.dtype()) || IsComplex(x.dtype())) && ItemSize(x.dtype()) >= 4 &&
                      x.rank() >= 2 && x.dim(-1) == x.dim(-2),
                  op, std::vector<Value>{x}, "needs square float32, float64 or complex matrices");
}

}  // namespace

Value DotGeneral(Value lhs, Value rhs, const DotDims& dims, DType result, Precision precision) {
  const std::string_view op = "stablehlo.dot_general";
  const std::vector<Value> operands = {lhs, rhs};
  RequireOperands(lhs.dtype() == rhs.dtype() && lhs.dtype() != DType::kBool, op, operands,
                  "operands must have one dtype, not bool");
  RequireOperands(dims.lhs_batch.size() == dims.rhs_batch.size() &&
                      dims.lhs_contract.size() == dims.rhs_contract.size(),
                  op, operands, "batch and contracted dims must pair up");
  Dims out;
  for (size_t i = 0; i < dims.lhs_batch.size(); ++i) {
    out.push_back(lhs.dim(dims.lhs_batch[i]));
    RequireOperands(out.back() == rhs.dim(dims.rhs_batch[i]), op, operands, "batch dims differ");
  }
  for (size_t i = 0; i < dims.lhs_contract.size(); ++i) {
    RequireOperands(lhs.dim(dims.lhs_contract[i]) == rhs.dim(dims.rhs_contract[i]), op, operands,
                    "contracted dims differ");
  }
  for (int64_t dim : FreeDims(lhs, dims.lhs_batch, dims.lhs_contract)) out.push_back(dim);
  for (int64_t dim : FreeDims(rhs, dims.rhs_batch, dims.rhs_contract)) out.push_back(dim);
  if (lhs.num_elements() == 0 || rhs.num_elements() == 0) {
    return Constant(lhs.builder(), result, 0, out);
  }
  const std::string attributes = StrCat(
      "dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = ", ToString(dims.lhs_batch),
      ", rhs_batching_dimensions = ", ToString(dims.rhs_batch),
      ", lhs_contracting_dimensions = ", ToString(dims.lhs_contract),
      ", rhs_contracting_dimensions = ", ToString(dims.rhs_contract), ">, ",
      PrecisionConfig(precision));
  return lhs.builder().Emit1(op, operands, attributes, Type{result, out});
}

Value MatMul(Value lhs, Value rhs, DType result, Precision precision) {
  RequireOperands(lhs.rank() >= 2 && lhs.rank() == rhs.rank(), "matmul",
                  std::vector<Value>{lhs, rhs}, "operands must have one rank of at least 2");
  DotDims dims;
  for (int64_t i = 0; i + 2 < lhs.rank(); ++i) {
    dims.lhs_batch.push_back(i);
    dims.rhs_batch.push_back(i);
  }
  dims.lhs_contract = {lhs.rank() - 1};
  dims.rhs_contract = {rhs.rank() - 2};
  return DotGeneral(lhs, rhs, dims, result, precision);
}

namespace {

// "[b, f, 0, 1]": which role each dim plays.
std::string ConvLayout(int64_t rank, int64_t first, std::string_view first_name, int64_t second,
                       std::string_view second_name, const Dims& spatial) {
  std::vector<std::string> names(Index(rank));
  names.at(Index(first)) = first_name;
  names.at(Index(second)) = second_name;
  for (size_t i = 0; i < spatial.size(); ++i) names.at(Index(spatial[i])) = std::to_string(i);
  std::string text = "[";
  for (const std::string& name : names) text += (text.size() > 1 ? ", " : "") + name;
  return text + "]";
}

Dims ConvResult(Value lhs, Value rhs, const ConvDims& dims, const ConvWindow& w,
                int64_t batch_groups) {
  Dims out(Index(lhs.rank()));
  out.at(Index(dims.out_batch)) = lhs.dim(dims.lhs_batch) / batch_groups;
  out.at(Index(dims.out_feature)) = rhs.dim(dims.rhs_output);
  for (size_t i = 0; i < dims.lhs_spatial.size(); ++i) {
    const int64_t size = lhs.dim(dims.lhs_spatial[i]);
    const int64_t base = size == 0 ? 0 : (size - 1) * w.lhs_dilation[i] + 1;
    const int64_t kernel = rhs.dim(dims.rhs_spatial[i]);
    const int64_t window = kernel == 0 ? 0 : (kernel - 1) * w.rhs_dilation[i] + 1;
    const int64_t padded = base + w.low[i] + w.high[i];
    out.at(Index(dims.out_spatial[i])) = padded < window ? 0 : (padded - window) / w.strides[i] + 1;
  }
  return out;
}

void CheckConvolution(Value lhs, Value rhs, const ConvDims& dims, const ConvWindow& w,
                      int64_t feature_groups, int64_t batch_groups) {
  const std::string_view op = "stablehlo.convolution";
  const std::vector<Value> operands = {lhs, rhs};
  const size_t spatial = dims.lhs_spatial.size();
  RequireOperands(lhs.dtype() == rhs.dtype() && lhs.dtype() != DType::kBool, op, operands,
                  "operands must have one dtype, not bool");
  RequireOperands(lhs.rank() == rhs.rank() && lhs.rank() == static_cast<int64_t>(spatial) + 2 &&
                      dims.rhs_spatial.size() == spatial && dims.out_spatial.size() == spatial,
                  op, operands, "operands must have two dims and the spatial ones");
  for (size_t size : {w.strides.size(), w.low.size(), w.high.size(), w.lhs_dilation.size(),
                      w.rhs_dilation.size(), w.reverse.size()}) {
    RequireOperands(size == spatial, op, operands, "the window needs one entry per spatial dim");
  }
  RequireOperands(feature_groups > 0 && batch_groups > 0 &&
                      rhs.dim(dims.rhs_input) * feature_groups == lhs.dim(dims.lhs_feature) &&
                      rhs.dim(dims.rhs_output) % feature_groups == 0 &&
                      rhs.dim(dims.rhs_output) % batch_groups == 0 &&
                      lhs.dim(dims.lhs_batch) % batch_groups == 0,
                  op, operands,
                  StrCat("features do not match for ", feature_groups, " feature groups and ",
                         batch_groups, " batch groups"));
}

}  // namespace

Value Convolution(Value lhs, Value rhs, const ConvDims& dims, const ConvWindow& window,
                  int64_t feature_groups, int64_t batch_groups, Precision precision) {
  CheckConvolution(lhs, rhs, dims, window, feature_groups, batch_groups);
  const Type type{lhs.dtype(), ConvResult(lhs, rhs, dims, window, batch_groups)};
  if (lhs.num_elements() == 0 || rhs.num_elements() == 0 || NumElements(type.dims) == 0) {
    return Constant(lhs.builder(), type.dtype, 0, type.dims);
  }
  const std::string attributes = StrCat(
      "dimension_numbers = #stablehlo.conv<",
      ConvLayout(lhs.rank(), dims.lhs_batch, "b", dims.lhs_feature, "f", dims.lhs_spatial), "x",
      ConvLayout(rhs.rank(), dims.rhs_input, "i", dims.rhs_output, "o", dims.rhs_spatial), "->",
      ConvLayout(lhs.rank(), dims.out_batch, "b", dims.out_feature, "f", dims.out_spatial),
      ">, window_strides = ", I64Array(window.strides),
      ", padding = ", PairTable(window.low, window.high),
      ", lhs_dilation = ", I64Array(window.lhs_dilation),
      ", rhs_dilation = ", I64Array(window.rhs_dilation),
      ", window_reversal = ", BoolArray(window.reverse), ", feature_group_count = ", feature_groups,
      " : i64, batch_group_count = ", batch_groups, " : i64, ", PrecisionConfig(precision));
  return lhs.builder().Emit1("stablehlo.convolution", std::vector<Value>{lhs, rhs}, attributes,
                             type);
}

Value Cholesky(Value x, bool lower) {
  RequireSquare("stablehlo.cholesky", x);
  if (x.num_elements() == 0) return x;
  return x.builder().Emit1("stablehlo.cholesky", std::vector<Value>{x},
                           StrCat("lower = ", BoolText(lower)), x.type());
}

Value TriangularSolve(Value a, Value b, bool left_side, bool lower, bool unit_diagonal,
                      bool transpose_a, bool conjugate_a) {
  const std::string_view op = "stablehlo.triangular_solve";
  RequireSquare(op, a);
  Dims batch_a(a.dims().begin(), a.dims().end() - 2);
  RequireOperands(a.dtype() == b.dtype() && b.rank() == a.rank() &&
                      std::equal(batch_a.begin(), batch_a.end(), b.dims().begin()) &&
                      b.dim(left_side ? -2 : -1) == a.dim(-1),
                  op, std::vector<Value>{a, b}, "b does not match a");
  if (b.num_elements() == 0) return b;
  if (conjugate_a && !transpose_a) a = Conj(a);
  const std::string_view transpose = !transpose_a  ? "NO_TRANSPOSE"
                                     : conjugate_a ? "ADJOINT"
                                                   : "TRANSPOSE";
  return b.builder().Emit1(op, std::vector<Value>{a, b},
                           StrCat("left_side = ", BoolText(left_side), ", lower = ",
                                  BoolText(lower), ", unit_diagonal = ", BoolText(unit_diagonal),
                                  ", transpose_a = #stablehlo<transpose ", transpose, ">"),
                           b.type());
}

Value Fft(Value x, FftKind kind, const Dims& lengths) {
  const std::string_view op = "stablehlo.fft";
  const bool real_input = kind == FftKind::kRfft;
  RequireOperands(
      real_input ? x.dtype() == DType::kF32 || x.dtype() == DType::kF64 : IsComplex(x.dtype()), op,
      std::vector<Value>{x}, "wrong element type for this kind of transform");
  const size_t count = lengths.size();
  RequireOperands(count >= 1 && count <= 3 && x.rank() >= static_cast<int64_t>(count), op,
                  std::vector<Value>{x}, "needs 1 to 3 lengths");
  Type type{real_input ? ComplexOf(x.dtype()) : x.dtype(), x.dims()};
  if (real_input) type.dims.back() = lengths.back() / 2 + 1;
  if (kind == FftKind::kIrfft) type = {RealOf(x.dtype()), x.dims()};
  if (kind == FftKind::kIrfft) type.dims.back() = lengths.back();
  const Dims& full = real_input ? x.dims() : type.dims;
  RequireOperands(
      std::equal(lengths.begin(), lengths.end(), full.end() - static_cast<int64_t>(count)), op,
      std::vector<Value>{x}, StrCat("does not have the lengths ", ToString(lengths)));
  RequireOperands(kind != FftKind::kIrfft || x.dim(-1) == lengths.back() / 2 + 1, op,
                  std::vector<Value>{x}, "the last dim must be length / 2 + 1");
  if (NumElements(type.dims) == 0 || x.num_elements() == 0) {
    return Constant(x.builder(), type.dtype, 0, type.dims);
  }
  constexpr std::string_view kNames[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
  return x.builder().Emit1(op, std::vector<Value>{x},
                           StrCat("fft_type = #stablehlo<fft_type ", kNames[static_cast<int>(kind)],
                                  ">, fft_length = ", I64Array(lengths)),
                           type);
}

std::vector<Value> CustomCall(Builder& b, std::string_view target, std::span<const Value> operands,
                              std::string_view backend_config, std::vector<Type> results) {
  return b.Emit("stablehlo.custom_call", operands,
                StrCat("call_target_name = \"", target, "\", has_side_effect = false, ",
                       "backend_config = \"", backend_config, "\", api_version = 1 : i32"),
                std::move(results));
}

std::vector<Value> TopK(Value x, int64_t k) {
  RequireOperands(x.rank() >= 1 && k >= 0 && k <= x.dim(-1) && !IsComplex(x.dtype()) &&
                      x.dtype() != DType::kBool,
                  "chlo.top_k", std::vector<Value>{x}, StrCat("k = ", k, " is not possible"));
  Dims dims = x.dims();
  dims.back() = k;
  if (NumElements(dims) == 0) {
    return {Constant(x.builder(), x.dtype(), 0, dims), Constant(x.builder(), DType::kI32, 0, dims)};
  }
  return x.builder().Emit("chlo.top_k", std::vector<Value>{x}, StrCat("k = ", k, " : i64"),
                          {Type{x.dtype(), dims}, Type{DType::kI32, dims}});
}

}  // namespace tpjrt::hlo
