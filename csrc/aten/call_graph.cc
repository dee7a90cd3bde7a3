#include "aten/call_graph.h"

#include "aten/dtypes.h"
#include "base/error.h"
#include "hlo/type.h"

namespace tpjrt::aten {
namespace {

using lower::ArgType;

ir::Scalar ToScalar(const c10::IValue& value, bool is_static) {
  if (value.isBool()) return {value.toBool()};
  if (value.isInt()) return {value.toInt()};
  if (value.isDouble()) return {value.toDouble()};
  if (value.isComplexDouble()) {
    const auto number = value.toComplexDouble();
    return {std::complex<double>(number.real(), number.imag())};
  }
  if (value.isSymInt()) return {value.toSymInt().guard_int(__FILE__, __LINE__)};
  // Beyond int64: as a type it is an integer, and no special one; its value is a run-time input or,
  // where it is static, the nearest double would be wrong.
  TORCH_CHECK(!is_static, "the integer ", value.toScalar().toUInt64(), " does not fit int64");
  return {std::numeric_limits<int64_t>::max()};
}

// Walks a call's arguments and gives each tensor the number of its use.
class ArgumentReader {
 public:
  explicit ArgumentReader(const Call& call) : call_(call) {}

  std::vector<ir::Argument> Read() {
    std::vector<ir::Argument> arguments;
    const size_t count = call_.binding().registered->schema.arguments.size();
    for (size_t i = 0; i < count; ++i) {
      arguments.push_back(ReadOne(call_.binding().arguments[i], call_.argument(i)));
    }
    return arguments;
  }

 private:
  bool IsStatic(const lower::SchemaArg& argument) const {
    const auto& row = *call_.binding().registered;
    const int index = row.schema.IndexOf(argument.name);
    return index >= 0 && row.static_scalar[static_cast<size_t>(index)];
  }

  bool IsRuntime(const lower::SchemaArg& argument) const {
    const auto& row = *call_.binding().registered;
    const int index = row.schema.IndexOf(argument.name);
    return index >= 0 && row.runtime_number[static_cast<size_t>(index)];
  }

  ir::ValueId Next(const at::Tensor& tensor) { return tensor.defined() ? next_++ : ir::kNoValue; }

  ir::TensorList ReadTensors(const c10::IValue& value) {
    ir::TensorList list;
    for (const c10::IValue& entry : value.toListRef()) {
      list.values.push_back(entry.isNone() ? ir::kNoValue : Next(entry.toTensor()));
    }
    return list;
  }

  ir::Argument ReadTensor(const c10::IValue& value) {
    const ir::ValueId id = Next(value.toTensor());
    if (id == ir::kNoValue) return ir::None();
    return ir::TensorArg{id};
  }

  ir::Argument ReadOne(const lower::SchemaArg& argument, const c10::IValue& value) {
    if (value.isNone()) return ir::None();
    switch (argument.kind) {
      case ArgType::kTensor:
        return ReadTensor(value);
      case ArgType::kTensorList:
        return ReadTensors(value);
      case ArgType::kScalar:
      case ArgType::kFloat:
        return ToScalar(value, IsStatic(argument));
      case ArgType::kInt:
        return IntOf(value);
      case ArgType::kIntList:
        return IntsOf(value);
      case ArgType::kBool:
        return value.toBool();
      case ArgType::kDType:
        return ToDType(value.toScalarType());
      case ArgType::kString:
        return std::string(value.toStringRef());
      case ArgType::kGenerator:
        return ir::GeneratorArg();
      case ArgType::kBoolList: {
        std::vector<bool> bits;
        for (const bool bit : value.toBoolList()) bits.push_back(bit);
        return bits;
      }
      case ArgType::kScalarList: {
        std::vector<ir::Scalar> numbers;
        for (const c10::IValue& entry : value.toListRef()) {
          numbers.push_back(ToScalar(entry, !IsRuntime(argument)));
        }
        return numbers;
      }
      case ArgType::kFloatList: {
        std::vector<double> numbers;
        for (const c10::IValue& entry : value.toListRef()) {
          numbers.push_back(entry.toDouble());
        }
        return numbers;
      }
      case ArgType::kOther:
        return ir::None();
    }
    return ir::None();
  }

  const Call& call_;
  ir::ValueId next_ = 0;
};

}  // namespace

std::vector<ir::Input> InputsOf(const Call& call) {
  std::vector<ir::Input> inputs;
  for (const TensorUse& use : call.uses()) inputs.push_back(InputOf(use));
  return inputs;
}

std::vector<ir::Argument> ArgumentsOf(const Call& call) { return ArgumentReader(call).Read(); }

std::string TypesOf(const Call& call) {
  std::string text;
  for (const TensorUse& use : call.uses()) {
    text += StrCat(text.empty() ? "" : ", ", Name(ToDType(use.tensor->scalar_type())),
                   hlo::ToString(use.tensor->sizes().vec()));
  }
  return text;
}

}  // namespace tpjrt::aten
