// The Python module `_C`: importing it registers the device with PyTorch and opens nothing.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/Generator.h>
#include <torch/csrc/utils/pybind.h>

#include "aten/device.h"
#include "aten/meta.h"
#include "aten/register.h"
#include "python/bindings.h"

namespace py = pybind11;

namespace {

// Python's meta kernels register themselves when their module is imported.
void LoadPythonMetaKernels() {
  const py::gil_scoped_acquire gil;
  py::module_::import("torch._meta_registrations");
}

}  // namespace

PYBIND11_MODULE(_C, m) {
  using namespace tpjrt;  // NOLINT
  m.doc() = "TorchPJRT's C++ extension; see torch_pjrt for the public API.";
  aten::RegisterAllocator();
  aten::RegisterGuard();
  aten::RegisterHooks();
  aten::RegisterFactories();
  aten::RegisterCopies();
  aten::RegisterOps();
  aten::RegisterAttention();
  aten::RegisterTransformer();
  aten::RegisterAutocast();
  aten::RegisterFallback();
  aten::SetMetaLoader(&LoadPythonMetaKernels);
  python::BindErrors(m);
  python::BindRuntime(m);
  python::BindDevices(m);
  python::BindOps(m);
}
