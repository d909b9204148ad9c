# Everything runs in .venv, which the first target that needs it creates. Another interpreter
# (3.11 or later): make PYTHON=python3.13 ...
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
EDITABLE := --no-build-isolation --editable
NATIVE := CMakeLists.txt $(wildcard src/native/*)

.PHONY: help build demo test bench docs asan clean
help:
	@echo "make demo    fit, explain and use a model of the penguins table"
	@echo "make test    lint, types, import direction, tests, doctests"
	@echo "make bench   every figure of benchmarks/RESULTS.md, beside its peers"
	@echo "make docs    the documentation, in docs/_build/html"
	@echo "make asan    native tests under address and undefined-behaviour sanitizers"
	@echo "make build   the package in .venv, ready for use; make clean removes it"

$(VENV)/.installed: pyproject.toml constraints.txt
	@echo "Setting up $(VENV) (about two minutes the first time) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	@$(PIP) scikit-build-core nanobind cmake ninja
	@$(PIP) $(EDITABLE) ".[cli]"
	@touch $@ $(VENV)/.built

$(VENV)/.built: $(VENV)/.installed $(NATIVE)
	@$(PIP) --no-deps $(EDITABLE) .
	@touch $@

$(VENV)/.test $(VENV)/.bench $(VENV)/.docs: $(VENV)/.%: $(VENV)/.installed
	@$(PIP) --group $*
	@touch $@

build: $(VENV)/.built

demo: build
	@$(BIN)/mercer demo

test: build $(VENV)/.test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports
	$(BIN)/pyright
	$(BIN)/pytest -n 2

bench: build $(VENV)/.bench
	$(BIN)/python benchmarks/run.py

docs: build $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going docs docs/_build/html

clean:
	rm -rf $(VENV) build docs/_build docs/gallery
