// LU factorisation with partial pivoting as a loop over columns: the compilers have no common
// program for it. Batched: leading dims are flattened to one.
#pragma once

#include "lower/context.h"

namespace tpjrt::lower {

struct Lu {
  Value factors;      // [B, m, n]: U on and above the diagonal, L (unit diagonal) below
  Value pivots;       // i32 [B, min(m, n)]: the row swapped with row k, from 1, as LAPACK's getrf
  Value info;         // i32 [B]: 0, or the first k (from 1) with a zero on U's diagonal
  Value permutation;  // i32 [B, m]: row i of P^T A is row permutation[i] of A
};
Lu Factor(Value a);  // a: [B, m, n], float32, float64 or complex

// The permutation that a list of pivots [B, k] stands for, over m rows.
Value PermutationOf(Value pivots, int64_t m);
// +1 or -1 per matrix, as dtype [B].
Value ParityOf(Value pivots, DType dtype);

// Rows of x [B, m, n] in the order of permutation [B, m], or put back from it.
Value PermuteRows(Value x, Value permutation);
Value UnpermuteRows(Value x, Value permutation);
// P with P[permutation[i], i] = 1, so that A = P L U.
Value PermutationMatrix(Value permutation, DType dtype);

// Solves A x = b for the factored A [B, n, n] and b [B, n, k]; adjoint: A^H x = b.
Value SolveFactored(Value factors, Value permutation, Value b, bool adjoint);

// [..., m, n] to [B, m, n].
Value FlattenBatch(Value x);
// The triangles of square or oblong matrices, the rest zero; `offset` as in tril and triu.
Value LowerTriangle(Value x, int64_t offset = 0);
Value UpperTriangle(Value x, int64_t offset = 0);
// Ones on the diagonal of [..., m, n].
Value IdentityLike(hlo::Builder& b, DType dtype, const Dims& dims);

}  // namespace tpjrt::lower
