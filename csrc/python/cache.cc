// The compile cache: counters, what is on disk, background compilation.
#include <pybind11/stl.h>

#include <utility>

#include "base/error.h"
#include "exec/runtime.h"
#include "python/bindings.h"

namespace py = pybind11;

namespace tpjrt::python {
namespace {

using exec::Runtime;
using no_gil = py::call_guard<py::gil_scoped_release>;

py::dict CacheStats() {
  const exec::CacheCounters counters = Runtime::Get().programs().counters();
  py::dict stats;
  stats["memory_hits"] = counters.memory_hits;
  stats["disk_hits"] = counters.disk_hits;
  stats["compiled"] = counters.compiled;
  stats["stored"] = counters.stored;
  stats["rejected"] = counters.rejected;
  stats["compile_seconds"] = counters.compile_seconds;
  stats["load_seconds"] = counters.load_seconds;
  stats["store_seconds"] = counters.store_seconds;
  return stats;
}

py::dict ToDict(const exec::KeyParts& parts) {
  py::dict dict;
  for (const exec::KeyPart& part : parts) dict[py::str(part.name)] = part.value;
  return dict;
}

// Bytes that are no text (a foreign file's) must not fail a listing.
py::object ToText(const std::string& bytes) {
  return py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

// None without a cache on disk.
py::object CacheMisses() {
  exec::DiskCache* disk = nullptr;
  exec::KeyParts environment;
  {
    const py::gil_scoped_release released;  // the first look at the environment reads the plugin
    Runtime& runtime = Runtime::Get();
    if (runtime.is_open()) disk = runtime.programs().disk();
    if (disk != nullptr) environment = disk->Environment();
  }
  if (disk == nullptr) return py::none();
  py::list misses;
  for (const exec::CacheMiss& miss : disk->Misses()) {
    py::dict dict;
    dict["key"] = ToHex(miss.key);
    dict["text"] = ToText(miss.text);
    misses.append(std::move(dict));
  }
  return py::make_tuple(disk->run(), ToDict(environment), misses);
}

std::unique_ptr<exec::CacheDirectory> OpenDirectory(const std::string& path) {
  std::string refusal;
  auto directory = exec::CacheDirectory::Open(path, /*create=*/false, &refusal);
  if (directory == nullptr) {
    Fail(ErrorCode::kFailedPrecondition, "the compile cache directory \"", path,
         "\" cannot be used: ", refusal);
  }
  return directory;
}

// One dict per entry, least recently used first; only "name", "bytes" and "used_ns" where the file
// is not an entry of this version.
py::list CacheEntries(const std::string& path) {
  const auto directory = OpenDirectory(path);
  py::list entries;
  for (const exec::CacheFile& file : directory->List(exec::kEntrySuffix)) {
    py::dict entry;
    entry["name"] = file.name;
    entry["bytes"] = file.bytes;
    entry["used_ns"] = file.used_ns;
    const auto bytes = directory->Read(file.name, /*touch=*/false, exec::kMaxHeadSize);
    if (const auto head = exec::DecodeHead(bytes.value_or(""))) {
      entry["key"] = ToHex(head->key);
      entry["text_digest"] = ToHex(head->text_digest);
      entry["created_ns"] = head->created_ns;
      entry["compile_seconds"] = static_cast<double>(head->compile_ns) * 1e-9;
      entry["run"] = head->run;
      entry["environment"] = ToDict(head->environment);
      entry["text_size"] = head->text_size;
      entry["text"] = ToText(head->text);
    }
    entries.append(std::move(entry));
  }
  return entries;
}

int64_t CacheClear(const std::string& path) {
  const auto directory = OpenDirectory(path);
  int64_t removed = 0;
  for (const std::string_view suffix : {exec::kEntrySuffix, std::string_view(".hash")}) {
    for (const exec::CacheFile& file : directory->List(suffix)) {
      if (directory->Remove(file.name) && suffix == exec::kEntrySuffix) ++removed;
    }
  }
  directory->RemoveLeftovers();
  return removed;
}

using Programs = std::vector<std::pair<std::string, int>>;

void Prefetch(const Programs& programs) {
  Runtime& runtime = Runtime::Get();
  const pjrt::Client& client = runtime.client();
  for (const auto& [text, parameters] : programs) {
    runtime.programs().Prefetch(client, text, parameters);
  }
}

// Prefetches all, then waits for all; throws the first error.
void CompilePrograms(const Programs& programs) {
  Prefetch(programs);
  Runtime& runtime = Runtime::Get();
  for (const auto& [text, parameters] : programs) {
    runtime.programs().Compile(runtime.client(), text, parameters);
  }
}

py::tuple CompileProgress() {
  const exec::CompileProgress progress = Runtime::Get().programs().watch().Progress();
  return py::make_tuple(progress.pending, progress.finished, progress.seconds);
}

}  // namespace

void BindCache(py::module_& m) {
  m.def("cache_stats", &CacheStats);
  m.def("cache_misses", &CacheMisses);
  m.def("cache_entries", &CacheEntries);
  m.def("cache_clear", &CacheClear);
  m.def("prefetch", &Prefetch, no_gil());
  m.def("compile_programs", &CompilePrograms, no_gil());
  m.def("compile_progress", &CompileProgress);
  m.def(
      "wait_for_long_compile",
      [](double seconds) { return Runtime::Get().programs().watch().WaitForLong(seconds); },
      no_gil());
  m.def("close_compile_watch", [] { Runtime::Get().programs().watch().Close(); });
}

}  // namespace tpjrt::python
