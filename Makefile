# Everything a fresh machine needs with python3, pip and make: `make demo`, `make test`.
PYTHON ?= python3
VENV ?= .venv
OUT ?= results/demo
BIN := $(VENV)/bin
LOCK := constraints/python$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])').txt

.PHONY: demo test lint lock clean

demo: $(VENV)/.installed
	$(BIN)/riskweighted demo --out $(OUT) --force

test: $(VENV)/.installed
	$(BIN)/python -m pytest

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

# Maintainers: resolve the locked versions anew (needs the package uv).
lock:
	for version in 3.11 3.12 3.13 3.14; do \
	  uv pip compile --quiet --upgrade --python-version $$version --extra test --extra dev \
	    --no-header --no-annotate --output-file constraints/python$$version.txt \
	    pyproject.toml constraints/tools.in || exit 1; \
	done

clean:
	rm -rf $(VENV) results
