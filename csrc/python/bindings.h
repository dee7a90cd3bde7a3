// The parts of `_C`, one file each.
#pragma once

#include <pybind11/pybind11.h>

namespace tpjrt::python {

void BindErrors(pybind11::module_& m);   // the core's errors as Python exceptions
void BindRuntime(pybind11::module_& m);  // plugin, programs, mode, memory
void BindDevices(pybind11::module_& m);  // devices, streams, generators
void BindOps(pybind11::module_& m);      // rows, fallbacks, the raw executor
void BindCapturedGraphs(pybind11::module_& m);
void BindCache(pybind11::module_& m);        // the compile cache
void BindDistributed(pybind11::module_& m);  // process groups

}  // namespace tpjrt::python
