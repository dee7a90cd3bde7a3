// Functions of three tensors, and of a tensor with bounds or a weight.
#include "lower/families.h"
#include "lower/pointwise.h"

namespace tpjrt::lower {
namespace {

Outcome Where(Context& c) {
  const DType type = c.Promoted({"self", "other"});
  return hlo::Select(Wide(c, "condition", DType::kBool), Wide(c, "self", type),
                     Wide(c, "other", type));
}

// --- clamp: NaN on either side wins, then the upper bound.
template <bool kTensorBounds>
Value Bound(Context& c, std::string_view name, DType type) {
  return kTensorBounds ? Wide(c, name, type) : WideScalar(c, name, type);
}

template <bool kTensorBounds>
Outcome Clamp(Context& c) {
  const DType type = c.Promoted({"self", "min", "max"});
  Value x = Wide(c, "self", type);
  if (c.Has("min")) x = hlo::Max(x, Bound<kTensorBounds>(c, "min", type));
  if (c.Has("max")) x = hlo::Min(x, Bound<kTensorBounds>(c, "max", type));
  return x;
}

template <bool kTensorBounds>
Outcome ClampMin(Context& c) {
  const DType type = c.Promoted({"self", "min"});
  return hlo::Max(Wide(c, "self", type), Bound<kTensorBounds>(c, "min", type));
}

template <bool kTensorBounds>
Outcome ClampMax(Context& c) {
  const DType type = c.Promoted({"self", "max"});
  return hlo::Min(Wide(c, "self", type), Bound<kTensorBounds>(c, "max", type));
}

// --- lerp from the nearer end, so that both ends are met exactly.
Value Lerp(Value start, Value end, Value weight) {
  const Value difference = end - start;
  const Value near_start = hlo::Lt(hlo::Abs(weight), 0.5);
  return hlo::Select(near_start, start + weight * difference, end - difference * (1.0 - weight));
}

template <bool kTensorWeight>
Outcome LerpRow(Context& c) {
  const DType type = c.Result().dtype;
  const DType compute = ComputeType(type);
  const Value weight = Bound<kTensorWeight>(c, "weight", compute);
  return hlo::Convert(Lerp(Wide(c, "self", compute), Wide(c, "end", compute), weight), type);
}

// --- self + value * (tensor1 op tensor2)
struct Factors {
  DType type;
  Value self, scaled, second;
};

Factors ScaledFactors(Context& c) {
  const DType type = c.Promoted({"self", "tensor1", "tensor2"});
  const DType compute = ComputeType(type);
  const Value first = Wide(c, "tensor1", compute);
  const Value scaled = type == DType::kBool ? hlo::And(first, WideScalar(c, "value", compute))
                                            : WideScalar(c, "value", compute) * first;
  return {type, Wide(c, "self", compute), scaled, Wide(c, "tensor2", compute)};
}

Outcome AddCMul(Context& c) {
  const Factors f = ScaledFactors(c);
  return hlo::Convert(f.self + f.scaled * f.second, f.type);
}

Outcome AddCDiv(Context& c) {
  const Factors f = ScaledFactors(c);
  return hlo::Convert(f.self + f.scaled / f.second, f.type);
}

constexpr Row kRows[] = {
    {"where.self(Tensor condition, Tensor self, Tensor other) -> Tensor", Where},
    {"clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
     Clamp<false>,
     {.checked_scalars = "min,max"}},
    {"clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", Clamp<true>},
    {"clamp_min(Tensor self, Scalar min) -> Tensor", ClampMin<false>, {.checked_scalars = "min"}},
    {"clamp_min.Tensor(Tensor self, Tensor min) -> Tensor", ClampMin<true>},
    {"clamp_max(Tensor self, Scalar max) -> Tensor", ClampMax<false>, {.checked_scalars = "max"}},
    {"clamp_max.Tensor(Tensor self, Tensor max) -> Tensor", ClampMax<true>},
    {"lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
     LerpRow<false>,
     {.checked_scalars = "weight"}},
    {"lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor", LerpRow<true>},
    {"addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
     AddCMul,
     {.checked_scalars = "value"}},
    {"addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
     AddCDiv,
     {.checked_scalars = "value"}},
};

}  // namespace

std::span<const Row> TernaryRows() { return kRows; }

}  // namespace tpjrt::lower
