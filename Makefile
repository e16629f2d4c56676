# One word per thing a person does. Every target sets itself up in .venv.
PYTHON ?= python3
BIN := .venv/bin
DATA := $(wildcard ../shared/data)
# Two test processes share two cores: more threads inside each would only get in the way.
TESTS := test test-portable test-jitter test-oldest test-newest
$(TESTS): export OPENBLAS_NUM_THREADS := 1
$(TESTS): export OMP_NUM_THREADS := 1
export KERNELHOOD_DATA ?= $(if $(DATA),$(abspath $(DATA)))

# Tests of compiled code, which are run as plain Python once more so that its lines are counted.
COMPILED := $(addprefix tests/kernels/test_,bank.py blocks.py clusters.py kernels.py passes.py) tests/losses/test_box.py \
	$(addprefix tests/operators/test_,dense.py combined.py) \
	$(addprefix tests/penalties/test_,nonneg_qp.py free_step.py linear.py) \
	$(addprefix tests/solvers/test_,pair_steps.py interior_point.py hessian.py)

# What other processors compute: the kinds that this one can run, see tests/portable.py.
SOLVERS := tests/losses tests/operators tests/penalties tests/relations tests/solvers tests/test_extending.py
# Tests of numbers, which have to hold if inputs change in their tenth digit, see tests/jitter.py.
NUMBERS := $(SOLVERS) tests/kernels tests/estimators tests/search
SEEDS ?= 20

.PHONY: demo $(TESTS) lint warm-up bench docs release-check clean

demo: .venv/.demo
	$(BIN)/python examples/demo.py --out demo

# COV=1 counts the lines that tests run, which takes half as long again.
test: COVERAGE := $(if $(COV),--cov --cov-report= --cov-fail-under=0)
test: .venv/.dev
	$(MAKE) --no-print-directory -j 2 lint warm-up
	$(BIN)/pytest -n 2 $(COVERAGE)
ifdef COV
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -n 2 $(COVERAGE) --cov-append -k "not samples_are_many" $(COMPILED)
	$(BIN)/coverage report
endif

test-portable: .venv/.dev
	$(BIN)/python tests/portable.py $(BIN)/pytest -n 2 -q $(SOLVERS)

test-jitter: .venv/.dev
	$(BIN)/python tests/jitter.py --seeds $(SEEDS) -- -n 2 $(NUMBERS) --ignore tests/search/test_interrupt.py

# The lowest versions that pyproject.toml names, and the newest ones, pre-releases included.
test-oldest: OPTIONS = --constraint $(VENV)/oldest.txt
test-newest: OPTIONS = --pre --upgrade
test-oldest test-newest: VENV = .venv-$(@:test-%=%)
test-oldest test-newest:
	$(PYTHON) -m venv $(VENV)
	$(PYTHON) tests/oldest.py > $(VENV)/oldest.txt
	$(VENV)/bin/python -m pip install --quiet $(OPTIONS) --editable '.[dev]'
	$(VENV)/bin/pytest -n 2

# Compiles what tests use, once for both test processes.
warm-up: .venv/.dev
	@$(BIN)/python tests/warm_up.py

lint: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/.bench
	$(BIN)/python -m pip install --quiet --editable '.[peers]' || echo "The peers do not install."
	$(BIN)/python benchmarks/fit_speed.py
	$(BIN)/python benchmarks/convergence_grid.py
	$(BIN)/python benchmarks/search_speed.py
	$(BIN)/python benchmarks/method_counts.py
	$(BIN)/python benchmarks/defaults.py --runs 1
	$(BIN)/python benchmarks/mtmkl_rounds.py
	$(BIN)/python benchmarks/shared_functions.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/certificates.py --problems 2000
	$(BIN)/python benchmarks/users_choice.py

docs: .venv/.docs
	$(BIN)/sphinx-build -W -b html docs docs/_build/html
	$(BIN)/python docs/check_site.py docs/_build/html

# Builds the sdist and the wheel into dist/, and uses them in new environments. TAG=v1.2.0 also asks
# whether that version is ready to be published.
release-check:
	$(PYTHON) tests/release_check.py --docs $(if $(TAG),--tag "$(TAG)")

clean:
	rm -rf .venv .venv-release dist .asv .venv-oldest .venv-newest demo report docs/_build docs/gallery docs/generated docs/sg_execution_times.rst .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.demo: EXTRAS := bench
.venv/.dev: EXTRAS := dev
.venv/.bench: EXTRAS := bench
.venv/.docs: EXTRAS := docs

.venv/.%: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[$(EXTRAS)]'
	@touch $@
