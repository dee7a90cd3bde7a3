#include <torch/csrc/Generator.h>

#include "aten/device.h"
#include "aten/generator.h"
#include "exec/runtime.h"
#include "python/bindings.h"

namespace py = pybind11;

namespace tpjrt::python {
namespace {

template <typename Body>
auto WithoutGil(Body&& body) -> decltype(body()) {
  const py::gil_scoped_release no_gil;
  return std::forward<Body>(body)();
}

py::dict DeviceProperties(int device) {
  // Opening the client runs Python (the configuration), maybe in another thread: not under the GIL.
  const pjrt::DeviceInfo& info = WithoutGil([&]() -> const pjrt::DeviceInfo& {
    const pjrt::Client& client = exec::Runtime::Get().client();
    return client.device_info(aten::CheckedDevice(device));
  });
  py::dict properties;
  properties["kind"] = info.kind;
  properties["id"] = info.id;
  properties["debug_string"] = info.debug_string;
  return properties;
}

py::object DefaultGenerator(int device) {
  const at::Generator& generator =
      WithoutGil([&]() -> const at::Generator& { return aten::DefaultGenerator(device); });
  return py::reinterpret_steal<py::object>(THPGenerator_Wrap(generator));
}

}  // namespace

void BindDevices(py::module_& m) {
  using no_gil = py::call_guard<py::gil_scoped_release>;
  m.def("set_static_device_count", &aten::SetStaticDeviceCount);
  m.def("device_count", &aten::DeviceCount, no_gil());
  m.def("current_device", &aten::CurrentDevice);
  m.def("set_device", &aten::SetCurrentDevice, no_gil());
  m.def("exchange_device", &aten::ExchangeDevice, no_gil());
  m.def("device_properties", &DeviceProperties);
  m.def("default_generator", &DefaultGenerator);
  m.def(
      "synchronize",
      [](int device) { exec::Runtime::Get().Synchronize(aten::CheckedDevice(device)); }, no_gil());
}

}  // namespace tpjrt::python
