// Contractions, convolutions and the dense factorisations the compilers have.
#pragma once

#include "hlo/builder.h"

namespace tpjrt::hlo {

// How much precision a float32 contraction keeps; kHighest is IEEE float32.
enum class Precision { kDefault, kHigh, kHighest };

struct DotDims {
  Dims lhs_batch, rhs_batch, lhs_contract, rhs_contract;
};
// Result dims: batch, lhs free, rhs free. `result` is the element type (accumulation included).
Value DotGeneral(Value lhs, Value rhs, const DotDims& dims, DType result,
                 Precision precision = Precision::kHighest);
// [.., m, k] x [.., k, n] with equal batch dims.
Value MatMul(Value lhs, Value rhs, DType result, Precision precision = Precision::kHighest);

struct ConvDims {
  int64_t lhs_batch, lhs_feature, rhs_input, rhs_output, out_batch, out_feature;
  Dims lhs_spatial, rhs_spatial, out_spatial;
};
struct ConvWindow {
  Dims strides, low, high, lhs_dilation, rhs_dilation;  // one entry per spatial dim
  std::vector<bool> reverse;                            // flip the kernel in this spatial dim
};
Value Convolution(Value lhs, Value rhs, const ConvDims& dims, const ConvWindow& window,
                  int64_t feature_groups, int64_t batch_groups,
                  Precision precision = Precision::kHighest);

Value Cholesky(Value x, bool lower);
Value TriangularSolve(Value a, Value b, bool left_side, bool lower, bool unit_diagonal,
                      bool transpose_a, bool conjugate_a = false);
enum class FftKind { kFft, kIfft, kRfft, kIrfft };
Value Fft(Value x, FftKind kind, const Dims& lengths);  // over the last lengths.size() dims
std::vector<Value> CustomCall(Builder& b, std::string_view target, std::span<const Value> operands,
                              std::string_view backend_config, std::vector<Type> results);
std::vector<Value> TopK(Value x, int64_t k);  // values, i32 indices over the last dim

}  // namespace tpjrt::hlo
