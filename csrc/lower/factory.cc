// Tensors made from nothing but numbers, as captured graphs write them. Eager factories are
// PyTorch's: an empty tensor and one of the in-place ops of creation.cc and random.cc, whose
// numbers these give too.
#include "hlo/elementwise.h"
#include "hlo/shape.h"
#include "lower/draws.h"
#include "lower/families.h"
#include "lower/philox.h"
#include "lower/pointwise.h"
#include "lower/random_integers.h"
#include "lower/sampling.h"

namespace tpjrt::lower {
namespace {

Outcome Zeros(Context& c) {
  return hlo::Constant(c.builder(), c.Result().dtype, 0, c.Result().dims);
}
Outcome Ones(Context& c) {
  return hlo::Constant(c.builder(), c.Result().dtype, 1, c.Result().dims);
}
Outcome Full(Context& c) { return WideScalar(c, "fill_value", c.Result().dtype); }
Outcome ScalarTensor(Context& c) { return WideScalar(c, "s", c.Result().dtype); }

Outcome Uniform(Context& c) {
  const Type& out = c.Result();
  if (IsComplex(out.dtype)) return Unsupported{"complex random numbers"};
  const DType draw = DrawType(out.dtype);
  const Value x = hlo::Convert(DrawUnits(c, draw, out.dims, SignificandBits(out.dtype)), out.dtype);
  return hlo::Select(hlo::Ge(x, hlo::ConstantLike(x, 1)), hlo::ZerosLike(x), x);
}

Outcome Normal(Context& c) {
  const Type& out = c.Result();
  if (IsComplex(out.dtype)) return Unsupported{"complex random numbers"};
  return hlo::Convert(DrawNormals(c, DrawType(out.dtype), out.dims), out.dtype);
}

#define TPJRT_OPTIONS                                                        \
  "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? " \
  "pin_memory=None"

#define TPJRT_INT64_OPTIONS                                               \
  "ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? " \
  "pin_memory=None"

constexpr Traits kCaptured{.captured_only = true};
// As the in-place ops of random.cc.
constexpr Traits kOneNumber{.draws_per_element = 2, .captured_only = true};
constexpr Traits kTwoNumbers{.draws_per_element = 4, .captured_only = true};

constexpr Row kRows[] = {
    {"empty.memory_format(SymInt[] size, *, " TPJRT_OPTIONS
     ", MemoryFormat? memory_format=None) -> Tensor",
     Zeros, kCaptured},
    {"empty_strided(SymInt[] size, SymInt[] stride, *, " TPJRT_OPTIONS ") -> Tensor", Zeros,
     kCaptured},
    {"empty_permuted(SymInt[] size, int[] physical_layout, *, " TPJRT_OPTIONS ") -> Tensor", Zeros,
     kCaptured},
    {"zeros(SymInt[] size, *, " TPJRT_OPTIONS ") -> Tensor", Zeros, kCaptured},
    {"ones(SymInt[] size, *, " TPJRT_OPTIONS ") -> Tensor", Ones, kCaptured},
    {"full(SymInt[] size, Scalar fill_value, *, " TPJRT_OPTIONS ") -> Tensor", Full, kCaptured},
    {"scalar_tensor(Scalar s, *, " TPJRT_OPTIONS ") -> Tensor", ScalarTensor, kCaptured},
    {"new_empty(Tensor self, SymInt[] size, *, " TPJRT_OPTIONS ") -> Tensor", Zeros, kCaptured},
    {"new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, " TPJRT_OPTIONS
     ") -> Tensor",
     Zeros, kCaptured},
    {"new_zeros(Tensor self, SymInt[] size, *, " TPJRT_OPTIONS ") -> Tensor", Zeros, kCaptured},
    {"new_ones(Tensor self, SymInt[] size, *, " TPJRT_OPTIONS ") -> Tensor", Ones, kCaptured},
    {"new_full(Tensor self, SymInt[] size, Scalar fill_value, *, " TPJRT_OPTIONS ") -> Tensor",
     Full, kCaptured},
    {"empty_like(Tensor self, *, " TPJRT_OPTIONS ", MemoryFormat? memory_format=None) -> Tensor",
     Zeros, kCaptured},
    {"zeros_like(Tensor self, *, " TPJRT_OPTIONS ", MemoryFormat? memory_format=None) -> Tensor",
     Zeros, kCaptured},
    {"ones_like(Tensor self, *, " TPJRT_OPTIONS ", MemoryFormat? memory_format=None) -> Tensor",
     Ones, kCaptured},
    {"full_like(Tensor self, Scalar fill_value, *, " TPJRT_OPTIONS
     ", MemoryFormat? memory_format=None) -> Tensor",
     Full, kCaptured},
    {"rand(SymInt[] size, *, " TPJRT_OPTIONS ") -> Tensor", Uniform, kOneNumber},
    {"randn(SymInt[] size, *, " TPJRT_OPTIONS ") -> Tensor", Normal, kTwoNumbers},
    {"rand_like(Tensor self, *, " TPJRT_OPTIONS ", MemoryFormat? memory_format=None) -> Tensor",
     Uniform, kOneNumber},
    {"randn_like(Tensor self, *, " TPJRT_OPTIONS ", MemoryFormat? memory_format=None) -> Tensor",
     Normal, kTwoNumbers},
    {"randint(SymInt high, SymInt[] size, *, " TPJRT_INT64_OPTIONS ") -> Tensor", RandomBelow,
     kOneNumber},
    {"randint.low(SymInt low, SymInt high, SymInt[] size, *, " TPJRT_INT64_OPTIONS ") -> Tensor",
     RandomBetween, kOneNumber},
    {"randint_like(Tensor self, SymInt high, *, " TPJRT_OPTIONS
     ", MemoryFormat? memory_format=None) -> Tensor",
     RandomBelow, kOneNumber},
    {"randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, " TPJRT_OPTIONS
     ", MemoryFormat? memory_format=None) -> Tensor",
     RandomBetween, kOneNumber},
    {"randperm(SymInt n, *, " TPJRT_INT64_OPTIONS ") -> Tensor", RandomPermutation, kOneNumber},
};

#undef TPJRT_OPTIONS
#undef TPJRT_INT64_OPTIONS

}  // namespace

std::span<const Row> FactoryRows() { return kRows; }

}  // namespace tpjrt::lower
