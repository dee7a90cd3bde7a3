// Comparisons and logic: bool results.
#include "hlo/reduce.h"
#include "lower/families.h"
#include "lower/pointwise.h"

namespace tpjrt::lower {
namespace {

// The operands meet in the promoted type itself: a number is rounded to it before it is compared.
template <BinaryFn F>
Outcome Compare(Context& c) {
  const DType type = c.Promoted({"self", "other"});
  return F(Wide(c, "self", type), Wide(c, "other", type));
}

template <BinaryFn F>
Outcome CompareScalar(Context& c) {
  const DType type = c.Promoted({"self", "other"});
  return F(Wide(c, "self", type), WideScalar(c, "other", type));
}

template <BinaryFn F>
Outcome Logical(Context& c) {
  return F(Wide(c, "self", DType::kBool), Wide(c, "other", DType::kBool));
}

// Whether each element equals any test element.
Outcome Membership(Context& c, Value elements, Value tests) {
  const Dims dims = elements.dims();
  Dims pairs = dims;
  pairs.push_back(tests.num_elements());
  const Value left = hlo::BroadcastTo(hlo::Unsqueeze(elements, elements.rank()), pairs);
  const Value right = hlo::BroadcastTo(hlo::Flatten(tests), pairs);
  const Value found = hlo::ReduceOr(hlo::Eq(left, right), {elements.rank()});
  return c.Bool("invert") ? hlo::Not(found) : found;
}

Outcome IsInTensors(Context& c) {
  const DType type = c.Promoted({"elements", "test_elements"});
  return Membership(c, c.TensorAs("elements", type), c.TensorAs("test_elements", type));
}
Outcome IsInTensorScalar(Context& c) {
  const DType type = c.Promoted({"elements", "test_element"});
  return Membership(c, c.TensorAs("elements", type), c.Scalar("test_element", type));
}
Outcome IsInScalarTensor(Context& c) {
  const DType type = c.Promoted({"element", "test_elements"});
  return Membership(c, c.Scalar("element", type), c.TensorAs("test_elements", type));
}

constexpr Row kRows[] = {
    {"eq.Tensor(Tensor self, Tensor other) -> Tensor", Compare<hlo::Eq>},
    {"eq.Scalar(Tensor self, Scalar other) -> Tensor", CompareScalar<hlo::Eq>},
    {"ne.Tensor(Tensor self, Tensor other) -> Tensor", Compare<hlo::Ne>},
    {"ne.Scalar(Tensor self, Scalar other) -> Tensor", CompareScalar<hlo::Ne>},
    {"lt.Tensor(Tensor self, Tensor other) -> Tensor", Compare<hlo::Lt>},
    {"lt.Scalar(Tensor self, Scalar other) -> Tensor", CompareScalar<hlo::Lt>},
    {"le.Tensor(Tensor self, Tensor other) -> Tensor", Compare<hlo::Le>},
    {"le.Scalar(Tensor self, Scalar other) -> Tensor", CompareScalar<hlo::Le>},
    {"gt.Tensor(Tensor self, Tensor other) -> Tensor", Compare<hlo::Gt>},
    {"gt.Scalar(Tensor self, Scalar other) -> Tensor", CompareScalar<hlo::Gt>},
    {"ge.Tensor(Tensor self, Tensor other) -> Tensor", Compare<hlo::Ge>},
    {"ge.Scalar(Tensor self, Scalar other) -> Tensor", CompareScalar<hlo::Ge>},
    {"logical_and(Tensor self, Tensor other) -> Tensor", Logical<hlo::And>},
    {"logical_or(Tensor self, Tensor other) -> Tensor", Logical<hlo::Or>},
    {"logical_xor(Tensor self, Tensor other) -> Tensor", Logical<hlo::Xor>},
    {"isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, "
     "bool invert=False) -> Tensor",
     IsInTensors},
    {"isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, "
     "bool invert=False) -> Tensor",
     IsInTensorScalar},
    {"isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, "
     "bool invert=False) -> Tensor",
     IsInScalarTensor},
};

}  // namespace

std::span<const Row> CompareRows() { return kRows; }

}  // namespace tpjrt::lower
