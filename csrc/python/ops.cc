#include <pybind11/stl.h>

#include <chrono>

#include "aten/binding.h"
#include "aten/fallback.h"
#include "exec/execute.h"
#include "exec/runtime.h"
#include "lower/registry.h"
#include "python/bindings.h"

namespace py = pybind11;

namespace tpjrt::python {
namespace {

py::list Rows() {
  std::map<int, std::vector<std::string>> variants;
  for (const aten::Binding& binding : aten::MakeBindings()) {
    if (!binding.own_use) variants[binding.row].push_back(binding.name().substr(6));
  }
  py::list rows;
  const auto& registered = lower::Registry::Get().rows();
  for (size_t i = 0; i < registered.size(); ++i) {
    py::dict row;
    row["name"] = registered[i].schema.FullName();
    row["schema"] = std::string(registered[i].row->schema);
    row["family"] = std::string(registered[i].family);
    row["variants"] = variants[static_cast<int>(i)];
    rows.append(std::move(row));
  }
  return rows;
}

aten::FallbackPolicy PolicyOf(const std::string& name) {
  if (name == "warn") return aten::FallbackPolicy::kWarn;
  if (name == "silent") return aten::FallbackPolicy::kSilent;
  if (name == "error") return aten::FallbackPolicy::kError;
  throw py::value_error("fallback policy must be 'warn', 'silent' or 'error', got '" + name + "'");
}

std::string PolicyName() {
  switch (aten::GetFallbackPolicy()) {
    case aten::FallbackPolicy::kSilent:
      return "silent";
    case aten::FallbackPolicy::kError:
      return "error";
    default:
      return "warn";
  }
}

// A Python function (op, reason) -> None. What it raises is printed.
void SetFallbackObserver(const py::function& observer) {
  auto* kept = new py::function(observer);  // lives as long as the process: no GIL at exit
  aten::SetFallbackObserver([kept](const std::string& op, const std::string& reason) {
    const py::gil_scoped_acquire gil;
    try {
      (*kept)(op, reason);
    } catch (py::error_already_set& error) {
      error.discard_as_unraisable("the observer of CPU fallbacks");
    }
  });
}

// The plugin's own cost: executes a program over four-float inputs and drops the result,
// `iterations` times; nanoseconds each.
double RawExecuteNs(const std::string& text, int inputs, int iterations) {
  exec::Runtime& runtime = exec::Runtime::Get();
  const pjrt::Client& client = runtime.client();
  const auto executable = client.Compile(text, inputs);
  const std::vector<float> zeros(4, 0.0F);
  const int64_t dims[] = {4};
  const exec::BufferRef input =
      runtime.Upload(zeros.data(), *exec::InternType(DType::kF32, dims), 0);
  const std::vector<PJRT_Buffer*> arguments(static_cast<size_t>(inputs), input->buffer().handle());
  std::vector<PJRT_Buffer*> outputs(static_cast<size_t>(executable->num_outputs()));
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < iterations; ++i) {
    executable->Execute(arguments, outputs, 0);
    for (size_t k = 0; k < outputs.size(); ++k) {
      const pjrt::Buffer drop(&client, outputs[k], DType::kF32, {4}, 0);
    }
  }
  const auto elapsed = std::chrono::steady_clock::now() - start;
  return std::chrono::duration<double, std::nano>(elapsed).count() / iterations;
}

}  // namespace

void BindOps(py::module_& m) {
  m.def("rows", &Rows);
  m.def("fallback_counts", &aten::FallbackCounts);
  m.def("reset_fallback_counts", &aten::ResetFallbackCounts);
  m.def("admit_fallback", &aten::AdmitFallback);
  m.def("set_fallback_observer", &SetFallbackObserver);
  m.def("fallback_policy", &PolicyName);
  m.def("set_fallback_policy",
        [](const std::string& name) { aten::SetFallbackPolicy(PolicyOf(name)); });
  m.def("raw_execute_ns", &RawExecuteNs, py::call_guard<py::gil_scoped_release>());
}

}  // namespace tpjrt::python
