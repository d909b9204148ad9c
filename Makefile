# Everything runs in .venv, which the first target that needs it creates. PYTHON=python3.13 make ...
# chooses another interpreter (3.11 or later).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NATIVE := CMakeLists.txt $(wildcard src/native/*)

.PHONY: build test
build: $(VENV)/.built

$(VENV)/.installed: pyproject.toml $(wildcard constraints.txt)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet scikit-build-core nanobind ninja
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable ".[cli]" --group test
	touch $@ $(VENV)/.built

$(VENV)/.built: $(VENV)/.installed $(NATIVE)
	$(BIN)/python -m pip install --quiet --no-build-isolation --no-deps --editable .
	touch $@

test: build
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports
	$(BIN)/pyright
	$(BIN)/pytest
