// Process groups for device tensors.
#include "aten/process_groups.h"
#include "python/bindings.h"

namespace py = pybind11;

namespace tpjrt::python {

void BindDistributed(py::module_& m) {
  m.def("stage_process_group", &aten::StageProcessGroup, py::arg("group_name"), py::arg("name"),
        py::call_guard<py::gil_scoped_release>());
}

}  // namespace tpjrt::python
