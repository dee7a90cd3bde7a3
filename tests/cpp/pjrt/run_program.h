// Short forms for tests of programs: upload, run, read back.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "pjrt/client.h"

namespace tpjrt::test {

using Floats = std::vector<float>;
using Dims = std::vector<int64_t>;

inline pjrt::Buffer Upload(const pjrt::Client& client, const Floats& values, const Dims& dims,
                           int device = 0) {
  return client.FromHost(values.data(), DType::kF32, dims, device);
}

inline pjrt::Buffer Upload(const pjrt::Client& client, const Floats& values, int device = 0) {
  return Upload(client, values, Dims{static_cast<int64_t>(values.size())}, device);
}

inline Floats Read(const pjrt::Buffer& buffer) {
  EXPECT_EQ(buffer.dtype(), DType::kF32);
  Floats values(static_cast<size_t>(buffer.nbytes()) / sizeof(float));
  buffer.CopyToHost(values.data());
  return values;
}

inline std::vector<pjrt::Buffer> Execute(const pjrt::Client& client,
                                         const pjrt::Executable& program,
                                         std::span<PJRT_Buffer* const> arguments, int device = 0,
                                         std::span<const int64_t> keep = {}) {
  std::vector<PJRT_Buffer*> raw(static_cast<size_t>(program.num_outputs()));
  program.Execute(arguments, raw, device, keep);
  std::vector<pjrt::Buffer> results;
  for (int i = 0; i < program.num_outputs(); ++i) {
    results.emplace_back(&client, raw[static_cast<size_t>(i)], program.output_dtype(i),
                         program.output_dims(i));
  }
  return results;
}

inline std::vector<pjrt::Buffer> Execute(const pjrt::Client& client,
                                         const pjrt::Executable& program,
                                         std::initializer_list<const pjrt::Buffer*> arguments,
                                         int device = 0, std::span<const int64_t> keep = {}) {
  std::vector<PJRT_Buffer*> raw;
  for (const pjrt::Buffer* argument : arguments) raw.push_back(argument->handle());
  return Execute(client, program, raw, device, keep);
}

// The module of one function: Main("%a: tensor<f32>", "tensor<f32>", "... return ...").
inline std::string Main(const std::string& parameters, const std::string& results,
                        const std::string& body) {
  return "module { func.func @main(" + parameters + ") -> (" + results + ") {\n" + body + "\n} }";
}

// a + b over n floats; with an attribute on `a`, e.g. "{tf.aliasing_output = 0 : i32}".
inline std::string AddProgram(int64_t n, const std::string& attribute = "") {
  const std::string type = "tensor<" + std::to_string(n) + "xf32>";
  return Main("%a: " + type + " " + attribute + ", %b: " + type, type,
              "%0 = stablehlo.add %a, %b : " + type + "\nreturn %0 : " + type);
}

// The Error that `body` throws; a failure of the test when it throws none.
inline Error ErrorOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error was thrown";
  return Error(ErrorCode::kInternal, "");
}

}  // namespace tpjrt::test
