# Everything runs in .venv, which the first target that needs it creates. Another interpreter
# (3.11 or later): make PYTHON=python3.13 ...
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CONSTRAINTS := constraints.txt
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint $(CONSTRAINTS)
EDITABLE := --no-build-isolation --editable
NATIVE := CMakeLists.txt $(wildcard src/native/*)

.PHONY: help build demo test quick quick-lane test-all test-torch test-oldest wheel bench docs
.PHONY: explore trapped asan fuzz soak mutants clean
help:
	@echo "make demo    fit, explain and use a model of throws at a basket"
	@echo "make test    lint, spelling, types, import direction, doctests, and the tests of the quick lane"
	@echo "make quick FILE=src/mercer/gram/build.py   the tests that this file touches; without FILE, those"
	@echo "             that the files touch which git says have changed"
	@echo "make test-all     these, and then everything else: pages, every pair, scikit-learn's tests, soak,"
	@echo "             fuzzing"
	@echo "make test-torch   what needs torch, which it installs; the other two leave it out"
	@echo "make test-oldest  the quick lane with the oldest versions of what Mercer needs"
	@echo "make wheel   a source archive and a wheel in dist/, tried in an empty environment"
	@echo "make bench   every figure of benchmarks/RESULTS.md, beside its peers"
	@echo "make docs    the documentation, in docs/_build/html"
	@echo "make asan    native tests under address and undefined-behaviour sanitizers"
	@echo "make fuzz    strings, sets and files nobody thought of, FUZZ=120 seconds each, and once more"
	@echo "             under sanitizers"
	@echo "make explore   generated tests with other examples each time, 300 of each"
	@echo "make soak    random trials of everything, for SOAK=600 seconds from SEED=1, to be continued"
	@echo "make mutants ROOM=learners/ridge COUNT=100 SEED=1   faults at random, and which of them no test saw"
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

$(VENV)/.test $(VENV)/.lint $(VENV)/.wheel $(VENV)/.bench $(VENV)/.docs: $(VENV)/.%: $(VENV)/.installed
	@$(PIP) --group $*
	@touch $@

build: $(VENV)/.built

demo: build
	@$(BIN)/mercer demo

# with one thread of BLAS, for else that of each process takes all cores, and with compiled files, for
# else each process that a test starts compiles the package again
PYTEST := OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n 2

test: build $(VENV)/.test $(VENV)/.lint
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/codespell src docs tests README.md CHANGELOG.md
	$(BIN)/lint-imports
	@$(MAKE) --no-print-directory $(VENV)/.types
	$(PYTEST)

# A tenth of the time, and needless where only tests have changed.
$(VENV)/.types: $(VENV)/.lint pyproject.toml tests/test_typed_calls.py $(shell find src/mercer -name __pycache__ -prune -o -print)
	$(BIN)/pyright
	@touch $@

quick-lane: build $(VENV)/.test
	$(PYTEST)

FILE :=
quick: build $(VENV)/.test
	@tests=$$($(BIN)/python tests/touched.py $(FILE)) && $(PYTEST) $$tests

# What the quick lane leaves out (tests/lanes.py), and generated tests with all their examples.
test-all: test
	$(PYTEST) -m "full or hypothesis" --hypothesis-profile=full

# What it finds becomes a test of its own, for the lanes draw the same examples in each run.
explore: build $(VENV)/.test
	$(PYTEST) -m hypothesis --hypothesis-profile=explore

# Not in the lanes: torch is large. PyPI has it with CUDA; to get the one for CPUs alone, give
# TORCH_INDEX=https://download.pytorch.org/whl/cpu. Where torch is installed, the lanes run these too.
TORCH_INDEX :=
$(VENV)/.torch: $(VENV)/.test
	@$(PIP) $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) torch
	@touch $@

test-torch: build $(VENV)/.torch
	$(PYTEST) -m "" tests/deep/networks tests/deep/attention tests/deep/test_convolution.py \
		tests/deep/test_images.py tests/plug_ins/test_device.py tests/gram/test_on_torch.py \
		tests/samples/test_tensors.py tests/native/test_hostile_neighbourhood.py \
		tests/test_reference.py src/mercer/deep src/mercer/gram/on_torch docs/convolution.rst \
		docs/attention.rst docs/networks.rst docs/book/networks.rst

# In an environment of its own. The oldest versions have wheels for Python 3.11 (PYTHON=python3.11).
test-oldest:
	@mkdir -p build
	@$(PYTHON) tests/oldest.py >build/oldest.txt
	@$(MAKE) quick-lane VENV=build/oldest CONSTRAINTS=build/oldest.txt

# The wheel is built from the source archive, which is thereby whole, and tried outside the sources in
# an environment that holds nothing else. Only what has passed gets into dist/.
wheel: $(VENV)/.wheel
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && trap 'exit 130' INT TERM && \
	PIP_CONSTRAINT="$(CURDIR)/constraints.txt" \
		$(BIN)/python -m build --outdir "$$folder/dist" . >"$$folder/log" 2>&1 || \
		{ cat "$$folder/log"; exit 1; } && \
	$(BIN)/python -m venv "$$folder/venv" && \
	"$$folder/venv/bin/python" -m pip --disable-pip-version-check install --quiet \
		--constraint constraints.txt "$$folder"/dist/*.whl && \
	(cd "$$folder" && venv/bin/python -I "$(CURDIR)/tests/wheel_smoke.py") && \
	mkdir -p dist && mv -f "$$folder"/dist/* dist/

bench: build $(VENV)/.bench
	$(BIN)/python benchmarks/run.py

# The gallery and the pages of modules need torch. LONG_PAGES=no shows the pages of the gallery that
# take longest without their results, as .ci/run does. Pages of names that are gone would be errors.
LONG_PAGES := yes
docs: build $(VENV)/.docs $(VENV)/.torch
	rm -rf docs/generated
	LONG_PAGES=$(LONG_PAGES) $(BIN)/python -m sphinx -W --keep-going --quiet --jobs 2 docs docs/_build/html

# The package once more, in build/asan, with the native module's errors trapped. python -S leaves out
# the editable install, which would come first; the sanitizers are loaded before anything else, and
# write to a file that pytest must not capture (--capture=sys).
SITE := build/asan/site
NATIVE_TESTS := tests/native tests/kernels/test_instruction_sets.py tests/kernels/test_dot.py \
	tests/kernels/test_kmers.py tests/kernels/test_gapped_kmers.py tests/kernels/test_sets.py \
	tests/kernels/test_local_alignment.py tests/solvers/smo/test_smo.py tests/solvers/smo/test_smo_pairs.py \
	tests/solvers/linear/test_linear_svm.py tests/search/test_vectors.py
TRAPPED = LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so) \
	$$(g++ -print-file-name=libstdc++.so)" ASAN_OPTIONS=detect_leaks=0 \
	UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 PYTHONMALLOC=malloc \
	PYTHONPATH="$(CURDIR)/$(SITE):$(CURDIR)/tests:$$($(BIN)/python -c 'import site; \
	print(site.getsitepackages()[0])')" $(BIN)/python -S

trapped: $(VENV)/.test
	@$(PIP) --no-deps --no-build-isolation --upgrade --target $(SITE) \
		-C build-dir=build/asan/cmake -C install.strip=false \
		-C cmake.define.MERCER_SANITIZE=ON -C cmake.define.CMAKE_CXX_COMPILER=g++ .

asan: trapped
	@isas=$$($(TRAPPED) -c "from mercer import _native; print(*_native.available_isas())") && \
	for isa in $$isas; do \
		echo "$$isa:"; \
		MERCER_ISA=$$isa $(TRAPPED) -m pytest --capture=sys -m "" $(NATIVE_TESTS) || exit 1; \
	done

# Each fuzzer once as atheris grows inputs, where there is one for this Python, and once at random with
# errors trapped. A failure prints how to see it again.
FUZZ := 120
FUZZERS := $(basename $(notdir $(wildcard tests/fuzz/fuzz_*.py)))
fuzz: build trapped
	@$(PIP) --group fuzz || echo "atheris cannot be installed: random inputs alone"
	@for fuzzer in $(FUZZERS); do \
		echo "$$fuzzer:"; \
		PYTHONPATH=tests $(BIN)/python -m fuzz.$$fuzzer --seconds $(FUZZ) || exit 1; \
		$(TRAPPED) -m fuzz.$$fuzzer --seconds $(FUZZ) --seed $$(date +%s) || exit 1; \
	done

# What is done is kept in build/soak, so that the same command goes on where it was stopped.
SOAK := 600
SEED := 1
soak: build $(VENV)/.test
	PYTHONPATH=tests $(BIN)/python -m soak.run --seconds $(SOAK) --seed $(SEED)

# Not in make test: for the one who writes tests. The checkout is not touched.
ROOM := samples
COUNT := 20
SEED := 0
mutants: build $(VENV)/.test
	$(BIN)/python tests/mutants.py $(ROOM) --count $(COUNT) --seed $(SEED)

clean:
	rm -rf $(VENV) build dist docs/_build docs/gallery
