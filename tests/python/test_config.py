"""The environment table and the choice of a plugin, without a device."""

from pathlib import Path

import pytest

from torch_pjrt import _discovery
from torch_pjrt._config import VARIABLES, Config, parse


def test_defaults() -> None:
    assert parse({}) == parse({v.name: " " for v in VARIABLES}) == Config()


def test_values() -> None:
    config = parse(
        {
            "TORCH_PJRT_PLUGIN": "libtpu",
            "TORCH_PJRT_DEVICE_NAME": "neuron",
            "TORCH_PJRT_DEVICE_COUNT": "8",
            "TORCH_PJRT_OPTIONS": "a=1, b=true,c=x=y,d=0.5",
            "TORCH_PJRT_AUTOLOAD": "0",
            "TORCH_PJRT_FALLBACK": "error",
            "TORCH_PJRT_MODE": "DEBUG",
            "TORCH_PJRT_CACHE_DIR": "/a/b",
            "TORCH_PJRT_CACHE_SIZE": "1.5 GiB",
            "TORCH_PJRT_CACHE_READONLY_DIR": "/c",
            "TORCH_PJRT_PROGRESS": "0",
            "UNRELATED": "x",
        }
    )
    assert config == Config(
        plugin="libtpu",
        device_name="neuron",
        device_count=8,
        options=(("a", 1), ("b", True), ("c", "x=y"), ("d", 0.5)),
        autoload=False,
        fallback="error",
        mode="debug",
        cache_dir="/a/b",
        cache_size=3 << 29,
        cache_readonly_dir="/c",
        progress=False,
    )
    assert [type(v) for _, v in config.options] == [int, bool, str, float]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TORCH_PJRT_DEVICE_NAME", "cuda"),
        ("TORCH_PJRT_DEVICE_NAME", "TPU"),
        ("TORCH_PJRT_DEVICE_NAME", "a:0"),
        ("TORCH_PJRT_DEVICE_COUNT", "0"),
        ("TORCH_PJRT_DEVICE_COUNT", "-1"),
        ("TORCH_PJRT_DEVICE_COUNT", "²"),
        ("TORCH_PJRT_OPTIONS", "=1"),
        ("TORCH_PJRT_AUTOLOAD", "yes"),
        ("TORCH_PJRT_FALLBACK", "ignore"),
        ("TORCH_PJRT_MODE", "fused"),
        ("TORCH_PJRT_CACHE_SIZE", "large"),
        ("TORCH_PJRT_CACHE_SIZE", "0"),
        ("TORCH_PJRT_CACHE_SIZE", "-1"),
        ("TORCH_PJRT_CACHE_SIZE", "1 PB"),
        ("TORCH_PJRT_PROGRESS", "yes"),
    ],
)
def test_a_bad_value_names_its_variable(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=name):
        parse({name: value})


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ("1000", 1000),
        ("7b", 7),
        ("2k", 2048),
        ("3MB", 3 << 20),
        ("4 gib", 4 << 30),
        ("1T", 1 << 40),
    ],
)
def test_sizes(value: str, size: int) -> None:
    assert parse({"TORCH_PJRT_CACHE_SIZE": value}).cache_size == size


@pytest.mark.parametrize(
    ("environment", "directory"),
    [
        ({}, "~/.cache/torch_pjrt"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/torch_pjrt"),
        ({"XDG_CACHE_HOME": "relative"}, "~/.cache/torch_pjrt"),
        ({"TORCH_PJRT_CACHE_DIR": ""}, "~/.cache/torch_pjrt"),
        ({"TORCH_PJRT_CACHE_DIR": "/a", "XDG_CACHE_HOME": "/x"}, "/a"),
        ({"TORCH_PJRT_CACHE_DIR": "off", "XDG_CACHE_HOME": "/x"}, None),
        ({"TORCH_PJRT_CACHE_DIR": "0"}, None),
    ],
)
def test_the_cache_directory(environment: dict[str, str], directory: str | None) -> None:
    assert parse(environment).cache_dir == directory


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> object:
    """Replaces the table: `machine({"tpu": (present, installed), ...})`."""

    def make(state: dict[str, tuple[bool, bool]]) -> None:
        table = []
        for hardware in _discovery.HARDWARE:
            present, installed = state.get(hardware.kind, (hardware.kind == "cpu", False))
            packages = []
            for package in hardware.packages:
                if installed:
                    folder = tmp_path / f"module_{package.name.replace('-', '_')}"
                    folder.mkdir(exist_ok=True)
                    (folder / "__init__.py").touch()
                    (folder / package.library.replace("*", "_x")).touch()
                    package = _discovery.Package(package.name, folder.name, package.library)
                else:
                    package = _discovery.Package(package.name, "no_such_module", package.library)
                packages.append(package)
            table.append(
                _discovery.Hardware(
                    hardware.kind,
                    hardware.device_name,
                    tuple(packages),
                    (lambda value: lambda: value)(present),
                    hardware.file_hints,
                )
            )
        monkeypatch.setattr(_discovery, "HARDWARE", tuple(table))

    monkeypatch.syspath_prepend(tmp_path)
    return make


YES, NO = (True, True), (False, False)


@pytest.mark.parametrize(
    ("state", "kind", "name"),
    [
        ({"cpu": YES}, "cpu", "pjrt"),
        ({"tpu": YES, "cpu": YES}, "tpu", "tpu"),
        ({"neuron": YES, "cpu": YES}, "neuron", "neuron"),
        ({"cuda": YES, "cpu": YES}, "cuda", "pjrt"),
        ({"tpu": YES, "cuda": YES, "cpu": YES}, "tpu", "tpu"),
        ({"tpu": (False, True), "cpu": YES}, "cpu", "pjrt"),  # libtpu for rehearsal only
        ({"tpu": (True, False), "cpu": YES}, "cpu", "pjrt"),  # a TPU without libtpu
    ],
)
def test_choice_by_hardware(
    machine: object, state: dict[str, tuple[bool, bool]], kind: str, name: str
) -> None:
    machine(state)
    choice = _discovery.choose(Config())
    assert (choice.kind, choice.device_name) == (kind, name)
    assert choice.problem is None and choice.path is not None and choice.path.is_file()
    assert choice.static_device_count == (4 if kind == "cpu" else -1)
    assert choice.options == ()


def test_nothing_installed(machine: object) -> None:
    machine({})
    choice = _discovery.choose(Config())
    assert choice.path is None
    assert "pip install xla-cpu-pjrt" in choice.problem


def test_named_package(machine: object) -> None:
    machine({"tpu": (False, True), "cpu": YES})
    choice = _discovery.choose(Config(plugin="libtpu"))
    assert (choice.kind, choice.device_name, choice.problem) == ("tpu", "tpu", None)
    missing = _discovery.choose(Config(plugin="libneuronxla"))
    assert "pip install libneuronxla" in missing.problem


def test_path_and_settings(tmp_path: Path) -> None:
    path = tmp_path / "my_cpu_plugin.so"
    path.touch()
    settings = Config(plugin=str(path), device_name="tpu", device_count=2, options=(("x", 1),))
    choice = _discovery.choose(settings)
    assert (choice.kind, choice.device_name, choice.path) == ("cpu", "tpu", path)
    assert choice.options == (("cpu_device_count", 2), ("x", 1))
    assert choice.static_device_count == 2
    unknown = tmp_path / "plugin.so"
    unknown.touch()
    choice = _discovery.choose(Config(plugin=str(unknown)))
    assert (choice.kind, choice.static_device_count, choice.options) == ("unknown", -1, ())
    assert "TORCH_PJRT_PLUGIN" in _discovery.choose(Config(plugin="/nowhere/x.so")).problem


def test_table_is_documented() -> None:
    assert len({v.name for v in VARIABLES}) == len(VARIABLES)
    assert all(v.name.startswith("TORCH_PJRT_") and v.meaning and v.default for v in VARIABLES)


def test_visible_devices() -> None:
    assert parse({"TORCH_PJRT_VISIBLE_DEVICES": " 3, 1"}).visible_devices == (3, 1)
    for bad in ("1,1", "-1", "1,", "a", "0;1", "²"):
        with pytest.raises(ValueError, match="TORCH_PJRT_VISIBLE_DEVICES"):
            parse({"TORCH_PJRT_VISIBLE_DEVICES": bad})


def test_visible_devices_must_exist(machine: object) -> None:
    machine({"cpu": YES})
    choice = _discovery.choose(Config(visible_devices=(3, 1)))
    assert (choice.problem, choice.static_device_count) == (None, 2)
    assert choice.visible_devices == (3, 1)
    problem = _discovery.choose(Config(visible_devices=(1, 4))).problem
    assert "1,4" in problem and "4 devices" in problem
    assert _discovery.choose(Config(visible_devices=(4,), device_count=5)).problem is None
    assert "2 devices" in _discovery.choose(Config(visible_devices=(2,), device_count=2)).problem


def test_visible_devices_of_hardware_are_known_before_it_is_opened(machine: object) -> None:
    machine({"tpu": YES, "cpu": YES})
    choice = _discovery.choose(Config(visible_devices=(9,)))
    assert (choice.problem, choice.static_device_count) == (None, 1)
