"""Prints the PJRT plugins that the tests use, separated by colons (TPJRT_TEST_PLUGINS)."""

import importlib.util
from pathlib import Path

# package -> library inside it; all three are in requirements-nodeps.txt
TEST_PLUGINS = {
    "xla_plugins.xla_cpu_pjrt": "xla_cpu_pjrt.so",
    "fastatomstruct_xla_cpu": "libpjrt_cpu.so",
    "lammps_jax_pjrt_cpu": "pjrt_c_api_cpu_plugin.so",
}


def library_path(package: str, library: str) -> Path:
    """The library's path, found without importing the package itself."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"plugin package {package} is not installed: run `make venv`")
    return Path(next(iter(spec.submodule_search_locations))) / library


if __name__ == "__main__":
    print(":".join(str(library_path(p, lib)) for p, lib in TEST_PLUGINS.items()))
