# Two commands to know: `make demo` and `make test`. Each makes its own .venv.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
BENCH := .venv/.bench
LOWEST := .venv-lowest/.installed
DOCS := .venv-docs/.installed
DOCS_PYTHON := .venv-docs/bin/python
# For the model of sentences in one example. Newer wheels of PyPI bring CUDA: set an index of wheels for processors.
TORCH ?= torch==2.13.0
# The tests that call kernels most directly, and the part of all tests that runs with the lowest versions in CI.
KERNEL_TESTS := tests/_kernels tests/measurements tests/losses tests/solvers/test_online.py
LOWEST_QUICK := tests/_kernels tests/measurements tests/losses tests/geometries tests/objective tests/starts \
  tests/supervision tests/cli tests/test_docs.py tests/test_features.py tests/test_coordinates.py tests/estimators/test_mds.py \
  tests/estimators/test_subspace.py tests/execution/test_execution.py tests/test_images.py README.md docs/start.md \
  docs/files.md

.PHONY: demo test test-kernels test-kernels-as-python test-kernels-with-bounds test-lowest test-lowest-quick lint \
  bench soak trust paper paper-quick clean docs docs-check docs-clean readme wheel test-wheel

demo: $(INSTALLED)
	$(BIN)/gramian demo

test: lint test-kernels
	PYTHONDEVMODE=1 $(BIN)/python -m pytest -n 2 --dist worksteal
	GRAMIAN_OFFLINE=1 $(BIN)/python -m experiments --quick

# The kernels as plain Python, and compiled with checks of every index. A dtype does not change where a kernel reads, so
# the second is for float64 alone: it compiles all anew.
test-kernels: $(INSTALLED)
	$(MAKE) -j2 test-kernels-as-python test-kernels-with-bounds

test-kernels-as-python:
	NUMBA_DISABLE_JIT=1 $(BIN)/python -X dev -m pytest -q -p no:cacheprovider $(KERNEL_TESTS)

test-kernels-with-bounds:
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=build/bounds $(BIN)/python -X dev -m pytest -q -p no:cacheprovider $(KERNEL_TESTS) \
	  -k "not float32" --ignore=tests/_kernels/test_cache.py

# All tests with the lowest versions that pyproject.toml names, in an environment of their own.
test-lowest: $(LOWEST)
	NUMBA_CACHE_DIR=build/lowest .venv-lowest/bin/python -m pytest -n 2 --dist worksteal

test-lowest-quick: $(LOWEST)
	NUMBA_CACHE_DIR=build/lowest .venv-lowest/bin/python -m pytest -q -n 2 --dist worksteal $(LOWEST_QUICK)

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(BENCH)
	$(BIN)/python -m benchmarks.report

# Generated cases of every property, mutated files of data and models, and mistakes in low-level calls: make soak MINUTES=30 SEED=7
MINUTES ?= 30
soak: $(INSTALLED)
	GRAMIAN_OFFLINE=1 $(BIN)/python -m harness.soak --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

# docs/trust.md: the tests counted anew; the last soak as it is stored.
trust: $(INSTALLED)
	$(BIN)/python -m harness.trust --count

# The site, in build/docs; warnings are errors. Pages and examples that have not changed are not built again. With
# GALLERY= the environment is made without UMAP, FAISS and a model of sentences, which need 2 GB.
GALLERY ?= 1
docs: $(DOCS)
	$(DOCS_PYTHON) -m sphinx -W --keep-going -q -b html -d build/doctrees docs build/docs
	@echo "The site is in build/docs/index.html"

# Every page of the site in a headless Chromium: console errors, links, pictures, search, width on a telephone.
docs-check: docs $(INSTALLED)
	GRAMIAN_CHECK_SITE=1 $(BIN)/python -m pytest -q tests/pages

docs-clean:
	rm -rf build/docs build/doctrees docs/api docs/gallery

# The tables of README.md from the stored figures, and its picture.
readme: $(INSTALLED)
	$(BIN)/python -m benchmarks.readme
	$(BIN)/python -m benchmarks.cover

# A wheel and an archive of the source, in dist/.
wheel: $(DOCS)
	rm -rf dist
	$(DOCS_PYTHON) -m build --outdir dist

# The examples of README and guides with the installed wheel alone, then all examples with the wheel and its extras, in
# an environment of its own.
WHEEL_PYTEST := venv/bin/python -I -m pytest -q -c /dev/null --rootdir=. -p no:cacheprovider -W error \
  -o doctest_optionflags="NORMALIZE_WHITESPACE ELLIPSIS"
WHEEL_PAGES := README.md docs/start.md docs/guides docs/choices.md docs/low-level.md docs/messages.md docs/from-nca.md \
  docs/from-pymanopt.md docs/metric-learn.md docs/estimators.md docs/architecture.md docs/mathematics.md docs/contributing.md
test-wheel: wheel
	rm -rf build/wheel
	$(PYTHON) -m venv build/wheel/venv
	build/wheel/venv/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl pytest
	cp -r README.md docs build/wheel
	cp CONTRIBUTING.md build/wheel/docs/contributing.md
	rm -rf build/wheel/docs/api build/wheel/docs/gallery
	cd build/wheel && $(WHEEL_PYTEST) --doctest-glob="*.md" $(WHEEL_PAGES) \
	  --ignore=docs/guides/table.md --ignore=docs/guides/cluster.md
	build/wheel/venv/bin/python -m pip install --quiet --disable-pip-version-check \
	  "$$(ls dist/*.whl)[plot,files,tables,dask,cli]"
	cd build/wheel && $(WHEEL_PYTEST) --doctest-glob="*.md" docs/files.md docs/large-data.md docs/plotting.md \
	  docs/guides/table.md docs/guides/cluster.md
	cd build/wheel && $(WHEEL_PYTEST) --doctest-modules --pyargs gramian --ignore-glob="*unfolding.py"

paper: $(INSTALLED)
	$(BIN)/python -m experiments

paper-quick: $(INSTALLED)
	$(BIN)/python -m experiments --quick

$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[plot,files,cli,test,baselines,paper,tables,dask]"
	touch $(INSTALLED)

$(LOWEST): pyproject.toml harness/lowest.py
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check -e . \
	  $$($(PYTHON) -m harness.lowest)
	touch $(LOWEST)

$(BENCH): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[bench]"
	touch $(BENCH)

$(DOCS): pyproject.toml
	$(PYTHON) -m venv .venv-docs
	$(DOCS_PYTHON) -m pip install --quiet --disable-pip-version-check build -e ".[docs,files,cli,tables,dask]"
	[ -z "$(GALLERY)" ] || $(DOCS_PYTHON) -m pip install --quiet --disable-pip-version-check -e ".[gallery]" $(TORCH) || \
	  echo "The examples are built without UMAP, FAISS and a model of sentences."
	touch $(DOCS)

clean:
	rm -rf .venv .venv-docs .venv-lowest build dist docs/api docs/gallery .pytest_cache .mypy_cache .ruff_cache
