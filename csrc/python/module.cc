// The Python module `_C`: importing it registers the device with PyTorch and opens nothing.
#include <pybind11/pybind11.h>

#include "aten/device.h"
#include "aten/process_groups.h"
#include "aten/register.h"
#include "python/bindings.h"

namespace py = pybind11;

PYBIND11_MODULE(_C, m) {
  using namespace tpjrt;  // NOLINT
  m.doc() = "TorchPJRT's C++ extension; see torch_pjrt for the public API.";
  aten::RegisterAllocator();
  aten::RegisterGuard();
  aten::RegisterHooks();
  aten::RegisterFactories();
  aten::RegisterCopies();
  aten::RegisterOps();
  aten::RegisterRandomChecks();
  aten::RegisterAttention();
  aten::RegisterTransformer();
  aten::RegisterRecurrent();
  aten::RegisterAutocast();
  aten::RegisterFallback();
  aten::RegisterProfiler();
  aten::RegisterProcessGroups();
  aten::RegisterDdpTimer();
  python::BindErrors(m);
  python::BindRuntime(m);
  python::BindDevices(m);
  python::BindOps(m);
  python::BindCapturedGraphs(m);
  python::BindCache(m);
  python::BindDistributed(m);
}
