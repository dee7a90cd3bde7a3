// Products of matrices and vectors. Half types accumulate in float32 and are rounded once; integers
// wrap around as in PyTorch. bool products are refused, as PyTorch's CPU kernels do.
#include "hlo/elementwise.h"
#include "hlo/shape.h"
#include "lower/contraction.h"
#include "lower/families.h"

namespace tpjrt::lower {
namespace {

using hlo::DotDims;

Value Scaled(Context& c, std::string_view name, Value x) {
  if (c.Is(name, 1)) return x;
  // An integer has to fit the result, not the wider type that products are summed in.
  const DType dtype = IsInteger(c.Result().dtype) ? c.Result().dtype : x.dtype();
  const Value factor = hlo::Convert(c.Scalar(name, dtype), x.dtype());
  return x * hlo::BroadcastTo(factor, x.dims());
}

bool HasComplexFactor(Context& c) {
  return c.KindOf("alpha") == ScalarKind::kComplex || c.KindOf("beta") == ScalarKind::kComplex;
}

// beta * self + alpha * product in the product's type. beta == 0 ignores self, NaN and all.
Value Combined(Context& c, Value product) {
  Value result = Scaled(c, "alpha", product);
  if (c.Is("beta", 0)) return result;
  Value self = hlo::BroadcastTo(c.TensorAs("self", product.dtype()), product.dims());
  return Scaled(c, "beta", self) + result;
}

const Unsupported kBoolProduct{"a product of bool matrices"};
const Unsupported kComplexFactor{"a complex alpha or beta"};

// self x other for the arguments named by A and B, and nothing else.
Outcome Product(Context& c, std::string_view a, std::string_view b, const DotDims& dims) {
  const DType dtype = c.Result().dtype;
  if (dtype == DType::kBool) return kBoolProduct;
  Value product = Contract(c.Tensor(a), c.Tensor(b), dims);
  return hlo::Convert(product, dtype);
}

Outcome AddProduct(Context& c, std::string_view a, std::string_view b, const DotDims& dims) {
  const DType dtype = c.Result().dtype;
  if (dtype == DType::kBool) return kBoolProduct;
  if (HasComplexFactor(c)) return kComplexFactor;
  Value product = Contract(c.Tensor(a), c.Tensor(b), dims);
  return hlo::Convert(Combined(c, product), dtype);
}

const DotDims kMatMul{{}, {}, {1}, {0}};
const DotDims kBatchMatMul{{0}, {0}, {2}, {1}};
const DotDims kBatchSumMatMul{{}, {}, {0, 2}, {0, 1}};
const DotDims kMatVec{{}, {}, {1}, {0}};
const DotDims kDot{{}, {}, {0}, {0}};

Outcome Mm(Context& c) { return Product(c, "self", "mat2", kMatMul); }
Outcome Bmm(Context& c) { return Product(c, "self", "mat2", kBatchMatMul); }
Outcome Mv(Context& c) { return Product(c, "self", "vec", kMatVec); }
Outcome Dot(Context& c) { return Product(c, "self", "tensor", kDot); }
Outcome Addmm(Context& c) { return AddProduct(c, "mat1", "mat2", kMatMul); }
Outcome Baddbmm(Context& c) { return AddProduct(c, "batch1", "batch2", kBatchMatMul); }
Outcome Addbmm(Context& c) { return AddProduct(c, "batch1", "batch2", kBatchSumMatMul); }
Outcome Addmv(Context& c) { return AddProduct(c, "mat", "vec", kMatVec); }

Outcome Vdot(Context& c) {
  const DType dtype = c.Result().dtype;
  if (dtype == DType::kBool) return kBoolProduct;
  Value product = Contract(hlo::Conj(c.Tensor("self")), c.Tensor("other"), kDot);
  return hlo::Convert(product, dtype);
}

// Unlike the matrix products this one promotes its inputs and accepts bool (`or` of `and`s).
Outcome Addr(Context& c) {
  if (HasComplexFactor(c)) return kComplexFactor;
  const Type& result = c.Result();
  const DType compute = ComputeType(result.dtype);
  Value rows = hlo::BroadcastInDim(c.TensorAs("vec1", compute), result.dims, {0});
  Value columns = hlo::BroadcastInDim(c.TensorAs("vec2", compute), result.dims, {1});
  return hlo::Convert(Combined(c, rows * columns), result.dtype);
}

Outcome AddmmActivation(Context& c) {
  const DType dtype = c.Result().dtype;
  if (!IsFloat(dtype)) return Unsupported{"_addmm_activation of a type that is not real"};
  if (HasComplexFactor(c)) return kComplexFactor;
  Value x = Combined(c, Contract(c.Tensor("mat1"), c.Tensor("mat2"), kMatMul));
  x = c.Bool("use_gelu") ? x * 0.5 * (hlo::Erf(x * 0.70710678118654752440) + 1.0)
                         : hlo::Max(x, hlo::ZerosLike(x));
  return hlo::Convert(x, dtype);
}

Outcome IntMm(Context& c) { return Contract(c.Tensor("self"), c.Tensor("mat2"), kMatMul); }

constexpr Traits Same(std::string_view arguments) { return {.same_dtype = arguments}; }
bool IsZeroOrOne(double value) { return value == 0 || value == 1; }
constexpr Traits Factors(std::string_view arguments) {
  return {.special_scalars = "beta,alpha",
          .is_special = IsZeroOrOne,
          .checked_scalars = "beta,alpha",
          .same_dtype = arguments};
}

const Row kRows[] = {
    {"mm(Tensor self, Tensor mat2) -> Tensor", Mm, Same("self,mat2")},
    {"bmm(Tensor self, Tensor mat2) -> Tensor", Bmm, Same("self,mat2")},
    {"mv(Tensor self, Tensor vec) -> Tensor", Mv, Same("self,vec")},
    {"dot(Tensor self, Tensor tensor) -> Tensor", Dot, Same("self,tensor")},
    {"vdot(Tensor self, Tensor other) -> Tensor", Vdot, Same("self,other")},
    {"addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
     Addmm, Factors("self,mat1,mat2")},
    {"baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> "
     "Tensor",
     Baddbmm, Factors("self,batch1,batch2")},
    {"addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> "
     "Tensor",
     Addbmm, Factors("self,batch1,batch2")},
    {"addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
     Addmv, Factors("self,mat,vec")},
    {"addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
     Addr, Factors({})},
    {"_addmm_activation(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, "
     "bool use_gelu=False) -> Tensor",
     AddmmActivation, Factors("self,mat1,mat2")},
    {"_int_mm(Tensor self, Tensor mat2) -> Tensor", IntMm},
};

}  // namespace

std::span<const Row> MatmulRows() { return kRows; }

}  // namespace tpjrt::lower
