# Two commands matter to a newcomer: `make demo` and `make test`. `make help` lists the rest.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3.11
JOBS ?= $(shell nproc)

VENV := $(CURDIR)/.venv
BIN := $(VENV)/bin
PY := $(BIN)/python
DEPS := $(VENV)/.stamp-requirements
INSTALLED := $(VENV)/.stamp-package
export PATH := $(BIN):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# The venv's Python, so that torch, pybind11 and the PJRT header are found in it.
CMAKE := $(BIN)/cmake
CONFIGURE := $(CMAKE) -S . -G Ninja -DCMAKE_MAKE_PROGRAM=$(BIN)/ninja -DPython_EXECUTABLE=$(PY)
BUILD := $(CMAKE) --build
PLUGINS = $$($(PY) scripts/test_plugins.py)
CTEST = $(BIN)/ctest --output-on-failure
CPP_FILES = $(wildcard $(foreach d,csrc/* tests/cpp tests/cpp/* tests/proxy_plugin benchmarks,$d/*.cc $d/*.h))
CORE_FILES = $(wildcard $(foreach d,base pjrt hlo ir lower exec,csrc/$d/*.cc))

.PHONY: help
help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | \
	  awk -F'\t' '{printf "  make %-10s %s\n", $$1, $$2}'

.PHONY: demo
demo: extension  ## set up, build, embed real sentences with MiniLM on the device
	@$(BIN)/torch-pjrt demo

.PHONY: test
test: build cpp-test asan py-test  ## set up, build, then every test

.PHONY: core-test
core-test: build/release/build.ninja  ## rebuild the core alone, C++ tests on the default plugin
	@$(BUILD) build/release -j $(JOBS) --target core_tests
	@plugins=$(PLUGINS); TPJRT_TEST_PLUGINS=$${plugins%%:*} $(CTEST) --test-dir build/release

.PHONY: cpp-test
cpp-test: build  ## the C++ tests on every CPU plugin
	@TPJRT_TEST_PLUGINS=$(PLUGINS) $(CTEST) --test-dir build/release

.PHONY: asan
asan: build/asan/build.ninja  ## the C++ tests under AddressSanitizer and UBSan
	@$(BUILD) build/asan -j $(JOBS) --target core_tests
	@export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1; \
	  TPJRT_TEST_PLUGINS=$(PLUGINS) $(CTEST) --test-dir build/asan

# ThreadSanitizer of GCC 12 cannot place its memory where addresses are more random than this.
NO_ASLR = $$([ "$$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 0)" -le 28 ] || echo setarch -R)

.PHONY: tsan
tsan: build/tsan/build.ninja  ## the C++ tests under ThreadSanitizer, which must see a planted race
	@$(BUILD) build/tsan -j $(JOBS) --target core_tests race_check
	@export TSAN_OPTIONS=ignore_noninstrumented_modules=1; plugins=$(PLUGINS); \
	  TPJRT_TEST_PLUGINS=$${plugins%%:*} $(NO_ASLR) $(CTEST) --test-dir build/tsan

.PHONY: py-test
py-test: build  ## the Python tests alone
	@TPJRT_TEST_PLUGINS=$(PLUGINS) $(BIN)/pytest

.PHONY: lint
lint: $(DEPS)  ## ruff, mypy and clang-format
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/clang-format --dry-run -Werror $(CPP_FILES)

.PHONY: tidy
tidy: build  ## clang-tidy over the core (minutes)
	@printf '%s\n' $(CORE_FILES) | xargs -P $(JOBS) -n 1 $(BIN)/clang-tidy --quiet -p build/release

.PHONY: format
format: $(DEPS)  ## format all sources in place
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .
	@$(BIN)/clang-format -i $(CPP_FILES)

.PHONY: bench
bench: build  ## measure, write build/bench.json and docs/performance.md
	@$(PY) -m benchmarks

.PHONY: docs
docs: build  ## write docs/ops.md from the op registry
	@$(PY) scripts/ops_doc.py

.PHONY: build
build: $(INSTALLED) build/release/build.ninja  ## compile the core, the PyTorch glue and the C++ tests
	@$(BUILD) build/release -j $(JOBS)

.PHONY: extension
extension: $(INSTALLED) build/release/build.ninja  ## compile what the Python package needs, no tests
	@$(BUILD) build/release -j $(JOBS) --target _C

build/release/build.ninja: | $(DEPS)
	@scripts/system.sh $(PYTHON)
	@$(CONFIGURE) -B build/release -DCMAKE_BUILD_TYPE=Release -DTPJRT_IN_TREE=ON

build/asan/build.ninja: | $(DEPS)
	@scripts/system.sh $(PYTHON)
	@$(CONFIGURE) -B build/asan -DCMAKE_BUILD_TYPE=Debug -DTPJRT_SANITIZE=ON -DTPJRT_GLUE=OFF

build/tsan/build.ninja: | $(DEPS)
	@scripts/system.sh $(PYTHON)
	@$(CONFIGURE) -B build/tsan -DCMAKE_BUILD_TYPE=Debug -DTPJRT_TSAN=ON -DTPJRT_PLANT_RACE=ON -DTPJRT_GLUE=OFF

.PHONY: venv
venv: $(INSTALLED)  ## the virtual environment with pinned packages

.PHONY: system
system:  ## install what the system lacks (root), or print the line that does
	@scripts/system.sh $(PYTHON)

$(DEPS): requirements.txt requirements-nodeps.txt
	@scripts/system.sh $(PYTHON)
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@$(PY) -m pip install -r requirements.txt
	@$(PY) -m pip install --no-deps -r requirements-nodeps.txt
	@touch $@

# Metadata (command, autoload entry point) and the path of python/; the build itself is CMake's.
$(INSTALLED): pyproject.toml $(DEPS)
	@$(PY) -m pip install --quiet --no-deps --no-build-isolation --config-settings=wheel.cmake=false -e .
	@touch $@

.PHONY: wheel
wheel: extension  ## an installable wheel in dist/
	@$(PY) scripts/wheel.py dist

.PHONY: clean
clean:  ## remove everything built, keep the virtual environment
	@rm -rf build dist python/torch_pjrt/*.so
