// Factorisations, triangular systems, inverses and Fourier transforms. Half types are refused, as
// in PyTorch. linalg_solve and the determinants have no row: PyTorch's gradients expect the factors
// of the transposed matrix when the argument is contiguous, which a lowering does not see.
#include "hlo/linalg.h"

#include <algorithm>

#include "base/error.h"
#include "hlo/elementwise.h"
#include "hlo/reduce.h"
#include "hlo/shape.h"
#include "lower/families.h"
#include "lower/fft.h"
#include "lower/lu.h"

namespace tpjrt::lower {
namespace {

Value Adjoint(Value x) { return hlo::Conj(hlo::SwapDims(x, x.rank() - 2, x.rank() - 1)); }

Dims BatchOf(Value x) { return Dims(x.dims().begin(), x.dims().end() - 2); }

Value WithBatch(Value x, Dims batch) {
  batch.push_back(x.dim(-2));
  batch.push_back(x.dim(-1));
  return hlo::BroadcastTo(x, batch);
}

// Gives a and b equal batch dims.
void BroadcastBatch(Value& a, Value& b) {
  const Dims batch = hlo::BroadcastDims(BatchOf(a), BatchOf(b));
  a = WithBatch(a, batch);
  b = WithBatch(b, batch);
}

struct CholeskyResult {
  Value factor, info;
};

// info: 0, or the order (from 1) of the first minor that is not positive: its diagonal is NaN.
CholeskyResult CholeskyOf(Value x, bool upper) {
  hlo::Builder& b = x.builder();
  if (x.num_elements() == 0) return {x, hlo::ConstantInt(b, DType::kI32, 0, BatchOf(x))};
  Value factor = hlo::Cholesky(x, !upper);
  factor = upper ? UpperTriangle(factor) : LowerTriangle(factor);
  Value on_diagonal = hlo::Eq(hlo::Iota(b, DType::kI32, x.dims(), x.rank() - 2),
                              hlo::Iota(b, DType::kI32, x.dims(), x.rank() - 1));
  Value bad = hlo::And(on_diagonal, hlo::IsNan(factor));
  Value order = hlo::Iota(b, DType::kI32, x.dims(), x.rank() - 1) + 1.0;
  Value none = hlo::ConstantInt(b, DType::kI32, x.dim(-1) + 1, x.dims());
  Value first = hlo::ReduceMin(hlo::Select(bad, order, none), {x.rank() - 2, x.rank() - 1});
  Value fine = hlo::Eq(first, static_cast<double>(x.dim(-1) + 1));
  return {factor, hlo::Select(fine, hlo::ZerosLike(first), first)};
}

Outcome CholeskyEx(Context& c) {
  CholeskyResult result = CholeskyOf(c.Tensor("self"), c.Bool("upper"));
  return {result.factor, hlo::Reshape(result.info, c.Result(1).dims)};
}

// Solves A x = b for A = L L^H, or U^H U.
Value SolveCholesky(Value factor, Value b, bool upper) {
  Value y = hlo::TriangularSolve(factor, b, true, !upper, false, upper, upper);
  return hlo::TriangularSolve(factor, y, true, !upper, false, !upper, !upper);
}

Outcome CholeskySolve(Context& c) {
  Value b = c.Tensor("self"), factor = c.Tensor("A");
  BroadcastBatch(factor, b);
  return SolveCholesky(factor, b, c.Bool("upper"));
}

Outcome CholeskyInverse(Context& c) {
  Value factor = c.Tensor("self");
  if (factor.num_elements() == 0) return factor;
  Value identity = IdentityLike(c.builder(), factor.dtype(), factor.dims());
  return SolveCholesky(factor, identity, c.Bool("upper"));
}

Outcome SolveTriangular(Context& c) {
  Value a = c.Tensor("self"), b = c.Tensor("B");
  BroadcastBatch(a, b);
  return hlo::TriangularSolve(a, b, c.Bool("left"), !c.Bool("upper"), c.Bool("unitriangular"),
                              false);
}

Outcome TriangularSolveOld(Context& c) {
  Value a = c.Tensor("A"), b = c.Tensor("self");
  BroadcastBatch(a, b);
  Value x = hlo::TriangularSolve(a, b, true, !c.Bool("upper"), c.Bool("unitriangular"),
                                 c.Bool("transpose"));
  return {x, a};
}

const Unsupported kNoPivots{"LU without pivoting"};

Outcome LuFactorEx(Context& c) {
  if (!c.Bool("pivot")) return kNoPivots;
  const Lu lu = Factor(FlattenBatch(c.Tensor("A")));
  return {hlo::Reshape(lu.factors, c.Result(0).dims), hlo::Reshape(lu.pivots, c.Result(1).dims),
          hlo::Reshape(lu.info, c.Result(2).dims)};
}

// The unit lower and the upper factor of [B, m, n].
struct Triangles {
  Value lower, upper;
};
Triangles Unpack(Value factors) {
  hlo::Builder& b = factors.builder();
  const int64_t batch = factors.dim(0), m = factors.dim(1), n = factors.dim(2);
  const int64_t k = std::min(m, n);
  Value lower = LowerTriangle(hlo::SliceDim(factors, 2, 0, k), -1) +
                IdentityLike(b, factors.dtype(), {batch, m, k});
  return {lower, UpperTriangle(hlo::SliceDim(factors, 1, 0, k))};
}

Outcome LuFactors(Context& c) {
  if (!c.Bool("pivot")) return kNoPivots;
  const Lu lu = Factor(FlattenBatch(c.Tensor("A")));
  const Triangles t = Unpack(lu.factors);
  Value p = PermutationMatrix(lu.permutation, c.Result(0).dtype);
  return {hlo::Reshape(p, c.Result(0).dims), hlo::Reshape(t.lower, c.Result(1).dims),
          hlo::Reshape(t.upper, c.Result(2).dims)};
}

Value FlattenPivots(Value pivots) {
  const int64_t k = pivots.dim(-1);
  const Dims batch(pivots.dims().begin(), pivots.dims().end() - 1);
  return hlo::Reshape(pivots, {hlo::NumElements(batch), k});
}

Outcome LuUnpack(Context& c) {
  Value data = c.Tensor("LU_data");
  Value flat = FlattenBatch(data);
  std::vector<Value> results(3);
  for (size_t i = 0; i < 3; ++i) {
    const Type& type = c.Result(static_cast<int>(i));
    results[i] = hlo::Constant(c.builder(), type.dtype, 0, type.dims);
  }
  if (c.Bool("unpack_pivots")) {
    Value permutation = PermutationOf(FlattenPivots(c.Tensor("LU_pivots")), data.dim(-2));
    results[0] = hlo::Reshape(PermutationMatrix(permutation, data.dtype()), c.Result(0).dims);
  }
  if (c.Bool("unpack_data")) {
    const Triangles t = Unpack(flat);
    results[1] = hlo::Reshape(t.lower, c.Result(1).dims);
    results[2] = hlo::Reshape(t.upper, c.Result(2).dims);
  }
  return results;
}

Outcome LuSolve(Context& c) {
  Value factors = c.Tensor("LU"), b = c.Tensor("B"), pivots = c.Tensor("pivots");
  if (b.num_elements() == 0) return b;
  BroadcastBatch(factors, b);
  Dims pivot_dims = BatchOf(b);
  pivot_dims.push_back(factors.dim(-1));
  Value permutation =
      PermutationOf(FlattenPivots(hlo::BroadcastTo(pivots, pivot_dims)), factors.dim(-1));
  const bool left = c.Bool("left"), adjoint = c.Bool("adjoint");
  // X A = B is A^H X^H = B^H.
  Value flat = FlattenBatch(left ? b : Adjoint(b));
  Value x = SolveFactored(FlattenBatch(factors), permutation, flat, left ? adjoint : !adjoint);
  return hlo::Reshape(left ? x : Adjoint(x), c.Result().dims);
}

Outcome InverseEx(Context& c) {
  Value a = FlattenBatch(c.Tensor("A"));
  const Lu lu = Factor(a);
  Value identity = IdentityLike(c.builder(), a.dtype(), a.dims());
  Value inverse = SolveFactored(lu.factors, lu.permutation, identity, false);
  return {hlo::Reshape(inverse, c.Result(0).dims), hlo::Reshape(lu.info, c.Result(1).dims)};
}

Outcome Cross(Context& c) {
  const Type& out = c.Result();
  const int64_t dim = Context::WrapDim(c.Int("dim"), out.rank());
  const DType compute = ComputeType(out.dtype);
  Value a = hlo::BroadcastTo(c.TensorAs("self", compute), out.dims);
  Value b = hlo::BroadcastTo(c.TensorAs("other", compute), out.dims);
  const auto part = [dim](Value x, int64_t i) { return hlo::SliceDim(x, dim, i % 3, i % 3 + 1); };
  std::vector<Value> parts;
  for (int64_t i = 0; i < 3; ++i) {
    parts.push_back(part(a, i + 1) * part(b, i + 2) - part(a, i + 2) * part(b, i + 1));
  }
  return hlo::Convert(hlo::Concatenate(parts, dim), out.dtype);
}

const Row kRows[] = {
    {"linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, "
     "Tensor info)",
     CholeskyEx},
    {"_cholesky_solve_helper(Tensor self, Tensor A, bool upper) -> Tensor", CholeskySolve},
    {"cholesky_inverse(Tensor self, bool upper=False) -> Tensor", CholeskyInverse},
    {"linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool "
     "unitriangular=False) -> Tensor",
     SolveTriangular},
    {"triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool "
     "unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)",
     TriangularSolveOld},
    {"linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, "
     "Tensor pivots, Tensor info)",
     LuFactorEx},
    {"linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)", LuFactors},
    {"lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) "
     "-> (Tensor P, Tensor L, Tensor U)",
     LuUnpack},
    {"linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) "
     "-> Tensor",
     LuSolve},
    {"linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
     InverseEx},
    {"linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor", Cross},
    {"_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor",
     FftRealToComplex},
    {"_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor",
     FftComplexToComplex},
    {"_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor",
     FftComplexToReal},
};

}  // namespace

std::span<const Row> LinalgRows() { return kRows; }

}  // namespace tpjrt::lower
