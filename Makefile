# Everything a fresh machine needs with python3, pip and make: `make demo`, `make quick`,
# `make test`, `make test-all`, `make test-lowest`.
PYTHON ?= python3
VENV ?= .venv
LOWEST_VENV ?= .venv-lowest
OUT ?= results/demo
BIN := $(VENV)/bin
LOCK := constraints/python$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])').txt

LOWEST := constraints/lowest.txt
# Files of tests side by side, one on each core; a file's tests share what they compile.
# A test that hangs is shown and fails after a quarter of an hour (pytest 9; older ones only show
# it).
SIDE_BY_SIDE := --numprocesses logical --maxprocesses 8 --dist loadfile --max-worker-restart 0 -o faulthandler_timeout=900 -o faulthandler_exit_on_timeout=true
# On the first import of a day ArviZ rewrites a file in the home directory, which workers that
# start together read half-written.
ALONE_FIRST := -W ignore -c "import arviz"

# What is imported is compiled once, also where the environment says that nothing be kept of it:
# every worker and command of a test would do it.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo quick test test-long test-all test-lowest lint docs lock clean

demo: $(VENV)/.installed
	$(BIN)/riskweighted demo --out $(OUT) --force
	$(BIN)/riskweighted summary $(OUT)

# A minute of every room, in one process; then all but what is long; then what is long
# (CONTRIBUTING.md says what goes where).
quick: $(VENV)/.installed
	$(BIN)/python -m pytest -q -m "quick and not long"

test: $(VENV)/.installed
	$(BIN)/python $(ALONE_FIRST)
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) -q -m "not long"

test-long: $(VENV)/.installed
	$(BIN)/python $(ALONE_FIRST)
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) -q -m long

# Both in one session: what tests of a file share is made once, and every package is imported once.
test-all: $(VENV)/.installed
	$(BIN)/python $(ALONE_FIRST)
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) -q

# With the lowest versions that pyproject.toml allows: what is quick of every room, and what a
# version could change; not what NumPy alone computes, which `make test` holds. A newer neighbour's
# warnings are none of ours. Many-times-repeated cases are left out besides.
test-lowest: $(LOWEST_VENV)/.installed
	$(LOWEST_VENV)/bin/python $(ALONE_FIRST)
	timeout 2400 $(LOWEST_VENV)/bin/python -m pytest $(SIDE_BY_SIDE) -q -m "(quick or versions) and not slow and not long" -o filterwarnings=default --disable-warnings \
	  --ignore tests/experiments --ignore tests/benchmarks --ignore tests/tools --ignore tests/harness \
	  --deselect tests/release/test_pack.py::test_names_of_all_kinds_stay_names_in_the_code \
	  --deselect tests/commands/test_main.py::test_wrong_studies_are_refused_before_anything_is_written

# The site, from this repository alone: no network is used. Open site/docs/index.html.
docs: $(VENV)/.installed
	$(BIN)/python -m sphinx -b html -q -W --keep-going -c docs -d build/doctrees . site

lint: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --quiet --constraint $(LOCK) --editable '.[dev]'
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# --without-pip and then pip from outside: works where the system's python3 comes without ensurepip.
$(VENV)/.installed: pyproject.toml $(LOCK)
	$(PYTHON) -m venv --clear --without-pip $(VENV)
	$(PYTHON) -m pip --python $(BIN)/python install --quiet --quiet --constraint $(LOCK) pip
	$(BIN)/python -m pip install --quiet --quiet --constraint $(LOCK) --editable '.[test]'
	touch $@

$(LOWEST_VENV)/.installed: pyproject.toml $(LOWEST) $(LOCK)
	$(PYTHON) -m venv --clear --without-pip $(LOWEST_VENV)
	$(PYTHON) -m pip --python $(LOWEST_VENV)/bin/python install --quiet --quiet --constraint $(LOCK) pip
	$(LOWEST_VENV)/bin/python -m pip install --quiet --quiet --constraint $(LOWEST) --editable '.[test]'
	touch $@

# Maintainers: resolve the locked versions anew (needs the package uv).
lock:
	for version in 3.11 3.12 3.13 3.14; do \
	  uv pip compile --quiet --upgrade --python-version $$version --extra test --extra dev --extra jax \
	    --no-header --no-annotate --output-file constraints/python$$version.txt \
	    pyproject.toml constraints/tools.in || exit 1; \
	done
	uv pip compile --quiet --upgrade --python-version 3.11 --resolution lowest-direct --extra test \
	  --no-header --no-annotate --output-file $(LOWEST) pyproject.toml

clean:
	rm -rf $(VENV) $(LOWEST_VENV) results site build
