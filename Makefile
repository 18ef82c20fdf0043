# On a machine with python3, pip and make: `make demo` shows the main job, `make test` checks everything.
# Both set themselves up in .venv; a second run finds it ready.

PYTHON ?= python3
BIN := .venv/bin
JOBS ?= 2
SEED ?= 1
COUNT ?= 100
MUTANTS := $(CURDIR)/$(BIN)
# Without compiled files every worker rewrites all tests, and every command that a test starts compiles dproof anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo test test-slow test-spark test-mutants bench bench-central docs clean

setup: .venv/.dev

.venv/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "dproof needs Python 3.11 or later: make PYTHON=/path/to/python3" >&2; exit 1; }
	@# Some systems ship venv without its own pip: then the system's pip puts one there.
	@test -x $(BIN)/pip || $(PYTHON) -m venv .venv >/dev/null 2>&1 || { $(PYTHON) -m venv --clear --without-pip .venv \
	  && $(PYTHON) -m pip --python $(BIN)/python install -qq pip; }
	@touch $@

.venv/.core: .venv/.python pyproject.toml
	@echo "Setting up .venv (once) ..." >&2
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable .
	@touch $@

.venv/.dev: .venv/.core
	@echo "Adding the tools for tests ..." >&2
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: .venv/.core
	@$(BIN)/dproof demo

test: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/pytest -q -n $(JOBS)

test-slow: .venv/.dev
	@# A browser and an assistant ask the server; where Chromium is missing, those tests are skipped with a word.
	@test -e .venv/.slow || { $(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[browser,mcp]' \
	  && touch .venv/.slow; }
	$(BIN)/pytest -q -n $(JOBS) -m "slow and not spark"
	@# Property tests once more, with examples that were not tried before.
	$(BIN)/pytest -q -n $(JOBS) -m "hypothesis and not slow and not spark" --hypothesis-profile search

test-spark: .venv/.dev
	@test -e .venv/.spark || { $(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[spark]' \
	  && touch .venv/.spark; }
	$(BIN)/pytest -q -m spark

test-mutants: .venv/.dev
	@test -e .venv/.mutants || { $(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[mutants]' \
	  && touch .venv/.mutants; }
	@# In a clone of the last commit; a second run goes on with the first one's sample.
	@test -e build/mutants/session.sqlite || { rm -rf build/mutants && git clone -q . build/mutants && cd build/mutants \
	  && $(MUTANTS)/cosmic-ray init tests/mutants/cosmic-ray.toml new.sqlite \
	  && $(MUTANTS)/python tests/mutants/sample.py new.sqlite tests/mutants/cosmic-ray.toml --seed $(SEED) --count $(COUNT) \
	  && mv new.sqlite session.sqlite; }
	cd build/mutants && PATH=$(MUTANTS):$$PATH PYTHONPATH=$$PWD/src cosmic-ray exec tests/mutants/cosmic-ray.toml session.sqlite
	$(BIN)/cr-report --surviving-only --show-diff build/mutants/session.sqlite

bench: .venv/.dev
	@# Peers are only measured against; one that will not install is skipped by the benchmark with a word.
	@test -e .venv/.bench || { $(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[bench]' \
	  && touch .venv/.bench; } || echo "some peers could not be installed: they will be skipped" >&2
	@$(BIN)/python -m benchmarks

bench-central: .venv/.dev
	@# Its peers weigh 1.4 GB and are only measured against, so they live in an environment of their own.
	@# LIMIT: the processor seconds after which a fit is stopped, where 1,500 are not wanted.
	@test -e .venv-central/.ready || { $(PYTHON) -m venv .venv-central \
	  && .venv-central/bin/python -m pip install -qq --disable-pip-version-check -r benchmarks/central-peers.txt \
	  && touch .venv-central/.ready; }
	@$(BIN)/python -m benchmarks.central_jobs $(LIMIT)
	@$(BIN)/python -m benchmarks.central

docs: .venv/.dev
	@test -e .venv/.docs || { $(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[docs]' \
	  && touch .venv/.docs; }
	@rm -rf site
	$(BIN)/sphinx-build --quiet --fail-on-warning --doctree-dir .venv/.doctrees docs site
	$(BIN)/python docs/check_site.py site
	$(BIN)/pytest -q -n $(JOBS) tests/test_docs.py tests/test_docs_references.py tests/test_docs_site.py tests/test_papers.py
	@echo "The site is in site/index.html"

clean:
	rm -rf .venv .venv-central build dist site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
