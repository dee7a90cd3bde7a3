#include "lower/foreach.h"

#include "base/error.h"
#include "hlo/elementwise.h"
#include "hlo/shape.h"
#include "lower/reducing.h"

namespace tpjrt::lower {
namespace {

using Values = std::vector<Value>;
// The new value of one element of the list; operands have its dims and compute type.
using Step = Value (*)(Value self, std::span<const Value> operands);

Value Add(Value x, std::span<const Value> o) { return x + o[0] * o[1]; }
Value Sub(Value x, std::span<const Value> o) { return x - o[0] * o[1]; }
Value AddNumber(Value x, std::span<const Value> o) { return x + o[0]; }
Value SubNumber(Value x, std::span<const Value> o) { return x - o[0]; }
Value Mul(Value x, std::span<const Value> o) { return x * o[0]; }
Value Div(Value x, std::span<const Value> o) { return x / o[0]; }
Value Maximum(Value x, std::span<const Value> o) { return hlo::Max(x, o[0]); }
Value Minimum(Value x, std::span<const Value> o) { return hlo::Min(x, o[0]); }
Value AddCMul(Value x, std::span<const Value> o) { return x + o[2] * (o[0] * o[1]); }
Value AddCDiv(Value x, std::span<const Value> o) { return x + o[2] * (o[0] / o[1]); }
Value Sqrt(Value x, std::span<const Value>) { return hlo::Sqrt(x); }
Value Neg(Value x, std::span<const Value>) { return -x; }
Value Reciprocal(Value x, std::span<const Value>) { return 1.0 / x; }
Value Zero(Value x, std::span<const Value>) { return hlo::ZerosLike(x); }
// PyTorch's lerp: from the nearer end.
Value Lerp(Value x, std::span<const Value> o) {
  Value d = o[0] - x;
  return hlo::Select(hlo::Lt(hlo::Abs(o[1]), 0.5), x + o[1] * d, o[0] - d * (1.0 - o[1]));
}

enum class Source { kList, kNumber, kTensor };
struct Operand {
  std::string_view name;
  Source source;
};

// What every element of the list needs of one operand.
class OperandValues {
 public:
  OperandValues(Context& c, const Operand& operand) : c_(c), operand_(operand) {
    if (operand.source == Source::kList) list_ = c.TensorList(operand.name);
  }
  bool Fits(const Values& self) const {
    return operand_.source != Source::kList || list_.size() == self.size();
  }
  // False where the result would not be computed in self's type.
  bool Keeps(DType dtype) const {
    if (operand_.source == Source::kNumber) {
      const ScalarKind kind = c_.KindOf(operand_.name);
      return kind != ScalarKind::kComplex && (IsFloat(dtype) || kind != ScalarKind::kFloat);
    }
    if (operand_.source == Source::kTensor) {
      const Type type = c_.TensorType(operand_.name);
      return type.dtype == dtype || (type.rank() == 0 && IsFloat(dtype) && IsFloat(type.dtype));
    }
    for (Value x : list_) {
      if (x.dtype() != dtype) return false;
    }
    return true;
  }
  Value At(size_t i, Value self) const {
    switch (operand_.source) {
      case Source::kList:
        return hlo::BroadcastTo(hlo::Convert(list_[i], self.dtype()), self.dims());
      case Source::kNumber:
        return Splat(c_.Scalar(operand_.name, self.dtype()), self.dims());
      case Source::kTensor:
        return hlo::BroadcastTo(c_.TensorAs(operand_.name, self.dtype()), self.dims());
    }
    Fail(ErrorCode::kInternal, "unknown foreach operand");
  }

 private:
  Context& c_;
  Operand operand_;
  Values list_;
};

Outcome ForEach(Context& c, Step step, std::initializer_list<Operand> operands) {
  const Values self = c.TensorList("self");
  Values results;
  std::vector<OperandValues> sources;
  for (const Operand& operand : operands) {
    sources.emplace_back(c, operand);
    Require(sources.back().Fits(self), "a foreach op needs lists of one length: '", operand.name,
            "' does not have the ", self.size(), " tensors of 'self'");
  }
  for (size_t i = 0; i < self.size(); ++i) {
    const DType dtype = self[i].dtype();
    Value x = hlo::Convert(self[i], ComputeType(dtype));
    Values values;
    for (const OperandValues& source : sources) {
      if (!source.Keeps(dtype)) return Unsupported{"a foreach op over tensors of mixed dtypes"};
      values.push_back(source.At(i, x));
    }
    results.push_back(hlo::Convert(step(x, values), dtype));
  }
  return results;
}

template <Step kStep>
Outcome Unary(Context& c) {
  return ForEach(c, kStep, {});
}
template <Step kStep>
Outcome WithNumber(Context& c) {
  return ForEach(c, kStep, {{"scalar", Source::kNumber}});
}
template <Step kStep>
Outcome WithList(Context& c) {
  return ForEach(c, kStep, {{"other", Source::kList}});
}
template <Step kStep>
Outcome WithScaledList(Context& c) {
  return ForEach(c, kStep, {{"other", Source::kList}, {"alpha", Source::kNumber}});
}
template <Step kStep>
Outcome WithTensor(Context& c) {
  return ForEach(c, kStep, {{"other", Source::kTensor}});
}
template <Step kStep>
Outcome WithProduct(Context& c) {
  return ForEach(
      c, kStep,
      {{"tensor1", Source::kList}, {"tensor2", Source::kList}, {"value", Source::kNumber}});
}
Outcome LerpByNumber(Context& c) {
  return ForEach(c, Lerp, {{"tensors1", Source::kList}, {"weight", Source::kNumber}});
}
Outcome LerpByList(Context& c) {
  return ForEach(c, Lerp, {{"tensors1", Source::kList}, {"weights", Source::kList}});
}

// True division and roots of integers change the dtype, which an in-place op refuses: only floats.
template <LowerFn kLower>
Outcome OfFloats(Context& c) {
  for (Value x : c.TensorList("self")) {
    if (!IsFloat(x.dtype())) return Unsupported{"a foreach op that needs floating point"};
  }
  return kLower(c);
}

Outcome Copy(Context& c) {
  const Values self = c.TensorList("self"), src = c.TensorList("src");
  Require(src.size() == self.size(), "_foreach_copy_ needs lists of one length");
  Values results;
  for (size_t i = 0; i < self.size(); ++i) {
    results.push_back(hlo::BroadcastTo(hlo::Convert(src[i], self[i].dtype()), self[i].dims()));
  }
  return results;
}

const Row kRows[] = {
    {"_foreach_add_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()", WithNumber<AddNumber>},
    {"_foreach_add_.List(Tensor(a!)[] self, Tensor[] other, *, Scalar alpha=1) -> ()",
     WithScaledList<Add>},
    {"_foreach_sub_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()", WithNumber<SubNumber>},
    {"_foreach_sub_.List(Tensor(a!)[] self, Tensor[] other, *, Scalar alpha=1) -> ()",
     WithScaledList<Sub>},
    {"_foreach_mul_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()", WithNumber<Mul>},
    {"_foreach_mul_.List(Tensor(a!)[] self, Tensor[] other) -> ()", WithList<Mul>},
    {"_foreach_mul_.Tensor(Tensor(a!)[] self, Tensor other) -> ()", WithTensor<Mul>},
    {"_foreach_div_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()", OfFloats<WithNumber<Div>>},
    {"_foreach_div_.List(Tensor(a!)[] self, Tensor[] other) -> ()", OfFloats<WithList<Div>>},
    {"_foreach_div_.Tensor(Tensor(a!)[] self, Tensor other) -> ()", OfFloats<WithTensor<Div>>},
    {"_foreach_maximum_.List(Tensor(a!)[] self, Tensor[] other) -> ()", WithList<Maximum>},
    {"_foreach_minimum_.List(Tensor(a!)[] self, Tensor[] other) -> ()", WithList<Minimum>},
    {"_foreach_clamp_min_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()", WithNumber<Maximum>},
    {"_foreach_clamp_max_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()", WithNumber<Minimum>},
    {"_foreach_addcmul_.Scalar(Tensor(a!)[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar "
     "value=1) -> ()",
     WithProduct<AddCMul>},
    {"_foreach_addcdiv_.Scalar(Tensor(a!)[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar "
     "value=1) -> ()",
     OfFloats<WithProduct<AddCDiv>>},
    {"_foreach_lerp_.Scalar(Tensor(a!)[] self, Tensor[] tensors1, Scalar weight) -> ()",
     OfFloats<LerpByNumber>},
    {"_foreach_lerp_.List(Tensor(a!)[] self, Tensor[] tensors1, Tensor[] weights) -> ()",
     OfFloats<LerpByList>},
    {"_foreach_sqrt_(Tensor(a!)[] self) -> ()", OfFloats<Unary<Sqrt>>},
    {"_foreach_reciprocal_(Tensor(a!)[] self) -> ()", OfFloats<Unary<Reciprocal>>},
    {"_foreach_neg_(Tensor(a!)[] self) -> ()", OfFloats<Unary<Neg>>},
    {"_foreach_zero_(Tensor(a!)[] self) -> ()", Unary<Zero>},
    {"_foreach_copy_(Tensor(a!)[] self, Tensor[] src, bool non_blocking=False) -> ()", Copy},
};

}  // namespace

std::span<const Row> ForeachRows() { return kRows; }

}  // namespace tpjrt::lower
