# Two commands to know: `make demo` and `make test`. Each makes its own .venv.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
BENCH := .venv/.bench

.PHONY: demo test lint bench soak paper paper-quick clean

demo: $(INSTALLED)
	$(BIN)/python -m gramian.demo

test: lint
	$(BIN)/python -m pytest
	GRAMIAN_OFFLINE=1 $(BIN)/python -m experiments --quick

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(BENCH)
	$(BIN)/python -m benchmarks.report

# Mutated data files and mistakes in low-level calls, with numba's bounds checks; half an hour.
soak: $(INSTALLED)
	GRAMIAN_OFFLINE=1 $(BIN)/python -m harness.mutations --cases 50000 --seconds 900
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=build/bounds $(BIN)/python tests/test_lowlevel_shapes.py 10000

paper: $(INSTALLED)
	$(BIN)/python -m experiments

paper-quick: $(INSTALLED)
	$(BIN)/python -m experiments --quick

$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[plot,test,baselines,paper]"
	touch $(INSTALLED)

$(BENCH): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[bench]"
	touch $(BENCH)

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache
