#include "base/error.h"
#include "python/bindings.h"

namespace py = pybind11;

namespace tpjrt::python {
namespace {

void SetPythonError(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kResourceExhausted:
      PyErr_SetString(py::module_::import("torch").attr("OutOfMemoryError").ptr(), error.what());
      return;
    case ErrorCode::kOutOfRange:
      PyErr_SetString(PyExc_IndexError, error.what());
      return;
    case ErrorCode::kUnimplemented:
      PyErr_SetString(PyExc_NotImplementedError, error.what());
      return;
    default:
      PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

}  // namespace

void BindErrors(py::module_& /*m*/) {
  py::register_exception_translator([](std::exception_ptr pending) {
    try {
      if (pending) std::rethrow_exception(pending);
    } catch (const Error& error) {
      SetPythonError(error);
    }
  });
}

}  // namespace tpjrt::python
