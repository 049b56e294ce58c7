# Every target sets up what it needs in $(VENV) from nothing but Python >= 3.11, pip, a C++17 compiler and make.
# Stamp files remember what is installed; delete $(VENV) (or run `make clean`) to begin afresh.

PYTHON ?= python3
VENV ?= .venv

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
NATIVE := $(wildcard src/bayesvm/_core/*.cpp src/bayesvm/_core/*.hpp)

# One BLAS thread per process: results do not depend on the machine's core count, and parallel workers do not compete.
SINGLE := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
WORKERS ?= 2

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test lint types layers docs bench bench-check reproduce sanitize clean

help:
	@echo "make demo    a machine trains itself: summary here, report and picture in demo-output/"
	@echo "make test    lint, types, layers and the test suite"
	@echo "make lint    formatting and style (ruff)"
	@echo "make types   static types (mypy)"
	@echo "make layers  direction of imports (import-linter)"
	@echo "make docs    documentation, in docs/_build/html"
	@echo "make bench   benchmarks"
	@echo "make bench-check OLD=a.json NEW=b.json   compare two results of benchmarks"
	@echo "make reproduce [NAMES=chu2003-table4] [DATA=folder] [PARTITIONS=n]   the papers' tables and figures"
	@echo "make sanitize  native tests under the address, undefined-behaviour and thread sanitizers"
	@echo "make clean   remove the virtual environment and everything built"
	@echo
	@echo "PYTHON=...   interpreter for the virtual environment (now: $(PYTHON); 3.11 or later)"

# -- environment ----------------------------------------------------------------------------------------------------------
$(VENV)/.created:
	@command -v $(PYTHON) >/dev/null 2>&1 || { echo "error: $(PYTHON) not found; say make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; v = "%d.%d" % sys.version_info[:2]; \
	  sys.exit(0 if sys.version_info >= (3, 11) else "error: bayesvm needs Python 3.11 or later, found " + v + " (say make PYTHON=/path/to/python3.11)")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade "pip>=25.1"
	@touch $@

# What builds the native module, cmake and ninja included, so that the editable install needs no isolated environment and
# rebuilds only what has changed.
$(VENV)/.build-tools: $(VENV)/.created pyproject.toml
	$(PIP) install $$($(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])') \
	  "cmake>=3.20" ninja
	@touch $@

$(VENV)/.package: $(VENV)/.build-tools pyproject.toml CMakeLists.txt $(NATIVE)
	$(PIP) install --no-build-isolation --editable ".[plots,progress,cli]"
	@touch $@

$(VENV)/.test-tools: $(VENV)/.created pyproject.toml
	$(PIP) install --group test
	@touch $@

$(VENV)/.docs-tools: $(VENV)/.created pyproject.toml
	$(PIP) install --group docs
	@touch $@

# -- targets --------------------------------------------------------------------------------------------------------------
demo: $(VENV)/.package
	$(BIN)/python examples/demo.py --out demo-output --force

lint: $(VENV)/.test-tools
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.test-tools $(VENV)/.package
	$(BIN)/mypy

layers: $(VENV)/.test-tools $(VENV)/.package
	PYTHONPATH=src $(BIN)/lint-imports

test: lint types layers
	$(SINGLE) $(BIN)/python -m pytest -n $(WORKERS) -m "not slow"

docs: $(VENV)/.docs-tools $(VENV)/.package
	$(SINGLE) $(BIN)/python scripts/gallery.py docs/_gallery
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

bench: $(VENV)/.test-tools $(VENV)/.package
	$(SINGLE) $(BIN)/python -m benchmarks

bench-check: $(VENV)/.package
	$(BIN)/python -m benchmarks.check $(OLD) $(NEW)

reproduce: $(VENV)/.package
	$(SINGLE) $(BIN)/bayesvm reproduce $(NAMES) --out reproduction --jobs $(WORKERS) \
	  $(if $(DATA),--data $(DATA)) $(if $(PARTITIONS),--partitions $(PARTITIONS))

sanitize:
	scripts/sanitize.sh

clean:
	rm -rf $(VENV) build dist demo-output docs/_build docs/_gallery docs/api/generated
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests examples benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +
