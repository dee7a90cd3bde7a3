// The op families. Each lives in one file named after it and hands out its table of rows.
#pragma once

#include <span>

#include "lower/row.h"

namespace tpjrt::lower {

std::span<const Row> UnaryRows();    // unary.cc: exp, sqrt, erf, round, sign, isnan, ...
std::span<const Row> BinaryRows();   // binary.cc: add, div, pow, atan2, fmod, ...
std::span<const Row> CompareRows();  // compare.cc: eq, lt, logical_and, bitwise_or, isclose parts
std::span<const Row> TernaryRows();  // ternary.cc: where, clamp, lerp, addcmul, addcdiv
std::span<const Row> ActivationRows();     // activation.cc: relu, gelu, silu, ... and backward
std::span<const Row> CreationRows();       // creation.cc: fill, arange, eye, linspace, tril_indices
std::span<const Row> CopyRows();           // copy.cc: clone, copy, _to_copy, contiguous forms
std::span<const Row> ReductionRows();      // reduction.cc: sum, mean, amax, any, prod, var, norm
std::span<const Row> ArgReductionRows();   // arg_reduction.cc: argmax, max.dim, median, mode
std::span<const Row> ScanRows();           // scan.cc: cumsum, cumprod, cummax, logcumsumexp
std::span<const Row> SortRows();           // sort.cc: sort, topk, kthvalue, searchsorted
std::span<const Row> MatmulRows();         // matmul.cc: mm, bmm, addmm, baddbmm, dot, addr
std::span<const Row> ConvolutionRows();    // convolution.cc: convolution_overrideable and backward
std::span<const Row> NormalizationRows();  // normalization.cc: layer, batch, group, rms norm
std::span<const Row> SoftmaxRows();        // softmax.cc: _softmax, _log_softmax, backward
std::span<const Row> AttentionRows();      // attention.cc: fused overrideable attention, backward
std::span<const Row> LossRows();           // loss.cc: nll_loss, mse_loss, smooth_l1, bce, ...
std::span<const Row> PoolingRows();        // pooling.cc: max/avg/adaptive pooling and backward
std::span<const Row> ResamplingRows();     // resampling.cc: interpolate, grid_sample, pads
std::span<const Row> ShapeRows();      // shape.cc: cat, flip, roll, repeat, tril, constant_pad_nd
std::span<const Row> IndexRows();      // indexing.cc: index, gather, index_select, embedding
std::span<const Row> ScatterRows();    // scatter.cc: scatter, index_put, index_add, masked_fill
std::span<const Row> RandomRows();     // random.cc: uniform, normal, bernoulli, dropout, randperm
std::span<const Row> LinalgRows();     // linalg.cc: cholesky, triangular solve, inverse
std::span<const Row> ComplexRows();    // complex.cc: complex, polar, angle, view_as pieces
std::span<const Row> OptimizerRows();  // optimizer.cc: fused steps
std::span<const Row> DistanceRows();   // distance.cc: cdist, pdist, renorm
std::span<const Row> ViewRows();       // view_ops.cc: view, slice, select, ... in captured graphs
std::span<const Row> FactoryRows();
std::span<const Row> ForeachRows();  // factory.cc: full, arange, rand, ... in captured graphs

}  // namespace tpjrt::lower
