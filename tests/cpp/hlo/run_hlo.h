// Builds a program with the builder, runs it on a plugin and reads numbers back.
#pragma once

#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "hlo/elementwise.h"
#include "pjrt/run_program.h"
#include "plugins_under_test.h"

namespace tpjrt::test {

using hlo::Builder;
using hlo::Type;
using hlo::Value;
using Numbers = std::vector<double>;

// The numbers as elements of dtype.
template <typename T>
std::string Pack(const Numbers& numbers) {
  std::string bytes(numbers.size() * sizeof(T), '\0');
  for (size_t i = 0; i < numbers.size(); ++i) {
    const T value = static_cast<T>(numbers[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

template <typename T>
Numbers Unpack(const std::string& bytes) {
  Numbers numbers;
  for (size_t i = 0; i < bytes.size(); i += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + i, sizeof(T));
    numbers.push_back(static_cast<double>(value));
  }
  return numbers;
}

inline std::string Encode(DType dtype, const Numbers& numbers) {
  switch (dtype) {
    case DType::kF32:
      return Pack<float>(numbers);
    case DType::kF64:
      return Pack<double>(numbers);
    case DType::kI32:
      return Pack<int32_t>(numbers);
    case DType::kI64:
      return Pack<int64_t>(numbers);
    case DType::kI8:
      return Pack<int8_t>(numbers);
    case DType::kU8:
    case DType::kBool:
      return Pack<uint8_t>(numbers);
    default:
      throw std::logic_error("no encoding for this dtype in the tests");
  }
}

inline Numbers Decode(DType dtype, const std::string& bytes) {
  switch (dtype) {
    case DType::kF32:
    case DType::kC64:
      return Unpack<float>(bytes);
    case DType::kF64:
      return Unpack<double>(bytes);
    case DType::kI32:
      return Unpack<int32_t>(bytes);
    case DType::kI64:
      return Unpack<int64_t>(bytes);
    case DType::kI8:
      return Unpack<int8_t>(bytes);
    case DType::kU16:
      return Unpack<uint16_t>(bytes);
    case DType::kU32:
      return Unpack<uint32_t>(bytes);
    case DType::kU8:
    case DType::kBool:
      return Unpack<uint8_t>(bytes);
    default:
      throw std::logic_error("no decoding for this dtype in the tests");
  }
}

struct Argument {
  Type type;
  Numbers numbers;
};

// An argument of a rank-1 type with as many elements as numbers.
inline Argument Vector(DType dtype, Numbers numbers) {
  const auto size = static_cast<int64_t>(numbers.size());
  return {{dtype, {size}}, std::move(numbers)};
}

using Body = std::function<std::vector<Value>(Builder&, const std::vector<Value>&)>;

// The same tests for every plugin found.
class HloExecution : public testing::TestWithParam<std::string> {
 protected:
  // All results, each as numbers (complex: real and imaginary parts in turn).
  std::vector<Numbers> RunAll(const std::vector<Argument>& arguments, const Body& body) const {
    Builder b;
    std::vector<Value> parameters;
    for (const Argument& argument : arguments) parameters.push_back(b.Parameter(argument.type));
    const std::vector<Value> results = body(b, parameters);
    const std::string text = b.Finish(results);
    const pjrt::Client& client = ClientOf(GetParam());
    const auto program = client.Compile(text, b.num_parameters());
    std::vector<pjrt::Buffer> buffers;
    std::vector<PJRT_Buffer*> handles;
    for (const Argument& argument : arguments) {
      const std::string bytes = Encode(argument.type.dtype, argument.numbers);
      buffers.push_back(client.FromHost(bytes.data(), argument.type.dtype, argument.type.dims, 0));
    }
    for (const pjrt::Buffer& buffer : buffers) handles.push_back(buffer.handle());
    std::vector<Numbers> out;
    for (const pjrt::Buffer& buffer : Execute(client, *program, handles)) {
      std::string bytes(static_cast<size_t>(buffer.nbytes()), '\0');
      buffer.CopyToHost(bytes.data());
      out.push_back(Decode(buffer.dtype(), bytes));
    }
    for (size_t i = 0; i < results.size(); ++i) {
      EXPECT_EQ(program->output_dims(static_cast<int>(i)), results[i].dims()) << text;
      EXPECT_EQ(program->output_dtype(static_cast<int>(i)), results[i].dtype()) << text;
    }
    return out;
  }

  Numbers Run(const std::vector<Argument>& arguments,
              const std::function<Value(Builder&, const std::vector<Value>&)>& body) const {
    return RunAll(arguments, [&](Builder& b, const std::vector<Value>& p) {
      return std::vector<Value>{body(b, p)};
    })[0];
  }
};

#define TPJRT_FOR_EVERY_PLUGIN(Suite)                                        \
  INSTANTIATE_TEST_SUITE_P(Plugins, Suite, testing::ValuesIn(PluginPaths()), \
                           [](const auto& info) { return PluginName(info.param); })

}  // namespace tpjrt::test
