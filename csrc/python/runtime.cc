#include "exec/runtime.h"

#include <pybind11/stl.h>

#include "aten/device.h"
#include "exec/strict.h"
#include "pjrt/fork.h"
#include "python/bindings.h"

namespace py = pybind11;

namespace tpjrt::python {
namespace {

pjrt::ClientOption ToOption(const std::string& name, const py::handle& value) {
  if (py::isinstance<py::bool_>(value)) return {name, value.cast<bool>()};
  if (py::isinstance<py::int_>(value)) return {name, value.cast<int64_t>()};
  if (py::isinstance<py::float_>(value)) return {name, value.cast<float>()};
  return {name, value.cast<std::string>()};
}

// A warning of the cache. It must not fail what it warns about, even where warnings are errors.
void Warn(const std::string& message) {
  const py::gil_scoped_acquire gil;
  if (PyErr_WarnEx(PyExc_RuntimeWarning, message.c_str(), 1) != 0) PyErr_WriteUnraisable(nullptr);
}

exec::DiskCacheConfig ToCacheConfig(const py::dict& answer) {
  exec::DiskCacheConfig config;
  config.directory = answer["directory"].cast<std::string>();
  config.read_only_directory = answer["read_only_directory"].cast<std::string>();
  config.size_limit = answer["size_limit"].cast<int64_t>();
  for (const auto& [name, value] : answer["environment"].cast<py::dict>()) {
    config.environment.push_back({name.cast<std::string>(), value.cast<std::string>()});
  }
  config.warn = &Warn;
  return config;
}

exec::RuntimeConfig ToConfig(const py::tuple& answer) {
  exec::RuntimeConfig config;
  config.plugin_path = answer[0].cast<std::string>();
  for (const auto& [name, value] : answer[1].cast<py::dict>()) {
    config.options.push_back(ToOption(name.cast<std::string>(), value));
  }
  config.cache = ToCacheConfig(answer[2].cast<py::dict>());
  config.visible_devices = answer[3].cast<std::vector<int>>();
  return config;
}

// Wraps a Python function () -> (path, options, cache, visible devices), called once, when the
// device is first used.
void SetConfigProvider(const py::function& provider) {
  auto* kept = new py::function(provider);  // lives as long as the process: no GIL at exit
  exec::Runtime::Get().SetConfigProvider([kept] {
    const py::gil_scoped_acquire gil;
    try {
      return ToConfig((*kept)().cast<py::tuple>());
    } catch (const py::error_already_set& error) {
      // The message alone: it is written for the user, and is thrown again by every later use.
      Fail(ErrorCode::kFailedPrecondition, py::str(error.value()).cast<std::string>());
    }
  });
}

py::dict PluginInfo() {
  const pjrt::Client* client = nullptr;
  {  // opening runs Python, maybe in another thread
    const py::gil_scoped_release no_gil;
    client = &exec::Runtime::Get().client();
  }
  const pjrt::Plugin& plugin = client->plugin();
  py::dict info;
  info["path"] = plugin.path();
  info["platform"] = client->platform_name();
  info["platform_version"] = client->platform_version();
  info["api_version"] = StrCat(plugin.api_major(), ".", plugin.api_minor());
  info["device_count"] = client->num_devices();
  return info;
}

py::dict MemoryStats(int device) {
  py::dict stats;
  exec::Runtime& runtime = exec::Runtime::Get();
  const bool open = runtime.is_open();
  static const exec::MemoryCounter none;
  const exec::MemoryCounter& memory = open ? runtime.memory(aten::CheckedDevice(device)) : none;
  stats["allocated"] = memory.allocated();
  stats["peak"] = memory.peak();
  stats["total_allocated"] = memory.total_allocated();
  stats["allocations"] = memory.allocations();
  stats["active"] = memory.active();
  stats["bytes_limit"] = open ? aten::MemoryInfo(device).second : 0;
  return stats;
}

std::string ModeName() {
  return exec::Runtime::Get().mode() == exec::Mode::kDebug ? "debug" : "eager";
}

void SetMode(const std::string& name) {
  if (name != "eager" && name != "debug") {
    throw py::value_error("mode must be 'eager' or 'debug', got '" + name + "'");
  }
  exec::Runtime::Get().set_mode(name == "debug" ? exec::Mode::kDebug : exec::Mode::kEager);
}

// Some plugins end the process with an abort when it exits while they work.
void WaitAtExit() {
  exec::Runtime& runtime = exec::Runtime::Get();
  if (!runtime.is_open() || pjrt::InForkedChild()) return;
  const py::gil_scoped_release no_gil;
  runtime.programs().StopBackground();
  for (int device = 0; device < runtime.num_devices(); ++device) {
    try {
      runtime.Synchronize(device);
    } catch (const Error&) {  // nobody is left to tell
    }
  }
}

}  // namespace

void BindRuntime(py::module_& m) {
  using exec::Runtime;
  py::module_::import("atexit").attr("register")(py::cpp_function(&WaitAtExit));
  m.def("set_config_provider", &SetConfigProvider);
  m.def("is_open", [] { return Runtime::Get().is_open(); });
  m.def("open", [] { Runtime::Get().client(); }, py::call_guard<py::gil_scoped_release>());
  m.def("plugin_info", &PluginInfo);
  m.def("compile_count", [] { return Runtime::Get().programs().compile_count(); });
  m.def("compile_seconds", [] { return Runtime::Get().programs().compile_seconds(); });
  m.def("strict", &exec::Strict);
  m.def("set_strict", &exec::SetStrict);
  m.def("mode", &ModeName);
  m.def("set_mode", &SetMode);
  m.def("memory_stats", &MemoryStats);
  m.def("reset_peak_memory", [](int device) {
    if (Runtime::Get().is_open()) Runtime::Get().memory(aten::CheckedDevice(device)).ResetPeak();
  });
  m.def("reset_accumulated_memory", [](int device) {
    if (!Runtime::Get().is_open()) return;
    Runtime::Get().memory(aten::CheckedDevice(device)).ResetAccumulated();
  });
  m.def("empty_cache", [] {
    if (Runtime::Get().is_open()) Runtime::Get().DropCaches();
  });
}

}  // namespace tpjrt::python
