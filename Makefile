# Needs python3 (3.11 or newer) and make, and uses `uv` where it is on the PATH.

SHELL := bash
PYTHON ?= python3
PORT ?= 8000
TESTS ?=

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
# The agent frameworks have an environment of their own: a hundred packages that only their tests need.
AGENTS := .venv-agents
# And so do the stores that the bench measures beside ours.
BENCH := .venv-bench
# And so has the tool that breaks the rules of texts and limits, to see whether their tests notice.
MUTANTS := .venv-mutants
MUTMUT := mutmut==3.8.1
MCP_MEMORY := @modelcontextprotocol/server-memory@2026.8.31
UV := $(or $(shell command -v uv),$(BIN)/uv)
PIN = $(UV) pip compile --quiet --universal --generate-hashes --no-annotate --no-header
COMPILE = $(PIN) $(UPGRADE) --extra postgres --extra mcp --extra test pyproject.toml
# What the image of the Dockerfile is made of, in the versions that were tested.
SUBSET = $(PIN) --constraint requirements.lock

# One more than there are cores for us: some tests wait, for a browser or another process. Each has a server of its own.
WORKERS := $(shell $(PYTHON) -c 'import os; cores = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1)); \
	print(min(4, len(cores(0)) + 1))')
PYTEST := -m pytest --numprocesses $(WORKERS) --dist worksteal

# Everything but the pages and the commands is covered in every branch, by these tests alone: watched, a test takes
# half as long again, and longer where it starts programs.
CORE := portal/*.py,portal/directory/*.py
PROGRAMS := conventions layers runtimes wheel whole_job
WATCHED := tests/directory tests/manager tests/migrations tests/performance tests/reliability \
	tests/operations/test_logs.py tests/operations/test_serving.py \
	$(filter-out $(PROGRAMS:%=tests/test_%.py),$(wildcard tests/test_*.py))

# What shows the promises of docs/security.md.
RELIABILITY := tests/reliability tests/manager tests/web tests/operations/test_vacuum.py \
	tests/test_contents.py tests/test_keys.py tests/test_prompt.py tests/test_sign_in.py

.DEFAULT_GOAL := help
.PHONY: help demo test test-reliability test-agents test-partitions mutants bench bench-quick check lint format types lock screenshots clean

help: ## What can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile

demo: $(INSTALLED) ## An organisation to try, on http://127.0.0.1:8000 (PORT=… for another port)
	@$(BIN)/portal demo --port $(PORT)

test: $(INSTALLED) ## The tests (TESTS=… for some: a path or any options of pytest)
	@$(BIN)/python $(PYTEST) $(TESTS)

test-reliability: $(INSTALLED) ## What is promised, under faults, races and attacks, ten times as long as in `make test`
	@PORTAL_TEST_SCALE=10 PORTAL_REQUIRE_POSTGRES=1 $(BIN)/python $(PYTEST) $(RELIABILITY)

test-agents: $(AGENTS)/.installed ## The programs of docs/agents, on the frameworks that they are about
	@$(AGENTS)/bin/mypy --cache-dir .mypy_cache/agents docs/agents tests/agents
	@PORTAL_REQUIRE_FRAMEWORKS=1 $(AGENTS)/bin/python $(PYTEST) tests/agents

test-partitions: $(INSTALLED) ## The manager's tests on PostgreSQL with the large tables in 8 partitions
	@PORTAL_TEST_PARTITIONS=8 PORTAL_REQUIRE_POSTGRES=1 $(BIN)/python $(PYTEST) -m postgres tests/manager \
		--deselect tests/manager/test_plans.py

mutants: $(MUTANTS)/.installed ## Breaks keys, contents and policy in each place, and lists what no test noticed
	@$(UV) pip install --quiet --python $(MUTANTS)/bin/python $(MUTMUT)
	@$(MUTANTS)/bin/mutmut run
	@$(MUTANTS)/bin/mutmut results

bench: $(BENCH)/.installed .cache/bench/.installed ## Measures everything, and writes docs/benchmarks.md (ROWS="--rows N …" for other sizes)
	@$(BENCH)/bin/python -m bench $(ROWS)

bench-quick: $(BENCH)/.installed .cache/bench/.installed ## The same with 10,000 rows and few rounds, in a minute
	@$(BENCH)/bin/python -m bench --quick

check: lint types ## What has to pass: lint, types, and all tests, with the core's coverage
	@$(BIN)/coverage erase
	@$(BIN)/coverage run $(PYTEST) $(WATCHED)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report --include='$(CORE)' --fail-under=100
	@$(BIN)/python $(PYTEST) $(WATCHED:%=--ignore=%)

lint: $(INSTALLED) ## Style and formatting of the Python code
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check

format: $(INSTALLED) ## Formats the Python code
	@$(BIN)/ruff format
	@$(BIN)/ruff check --fix

types: $(INSTALLED) ## mypy --strict over the package and the tests
	@$(BIN)/mypy

lock: $(INSTALLED) ## Pins the dependencies anew (UPGRADE=--upgrade for newer versions)
	@$(COMPILE) --output-file requirements.lock
	@$(COMPILE) --constraint requirements.lock --extra agents --output-file requirements-agents.lock
	@$(COMPILE) --constraint requirements.lock bench/requirements.txt --output-file bench/requirements.lock
	@$(SUBSET) --extra postgres --extra mcp pyproject.toml --output-file requirements-serve.lock
	@echo 'hatchling>=1.27' | $(SUBSET) - --output-file requirements-build.lock

screenshots: $(INSTALLED) ## The pictures of the README, from the demo; needs Chromium
	@PYTHONPATH=. $(BIN)/python docs/screenshots.py

clean: ## Removes what make made
	rm -rf $(VENV) $(AGENTS) $(BENCH) $(MUTANTS) mutants .cache .coverage* .hypothesis .mypy_cache .pytest_cache .ruff_cache dist

$(INSTALLED): requirements.lock pyproject.toml
$(MUTANTS)/.installed: requirements.lock pyproject.toml | $(INSTALLED)
$(AGENTS)/.installed: requirements-agents.lock pyproject.toml | $(INSTALLED)
$(BENCH)/.installed: bench/requirements.lock pyproject.toml | $(INSTALLED)

.cache/bench/.installed: Makefile
	@command -v npm >/dev/null || { echo "npm is needed for one of the peers" >&2; exit 1; }
	@npm install --silent --no-audit --no-fund --no-save --prefix $(@D) $(MCP_MEMORY)
	@touch $@

# uv itself comes from the lock too, because it installs three times as fast as pip.
%/.installed:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed: make PYTHON=…" >&2; exit 1; }
	@echo "Setting up $(@D) with $$(grep -c == $<) packages (once) …"
	@$(PYTHON) -m venv $(@D)
	@command -v $(UV) >/dev/null || $(@D)/bin/python -m pip install --disable-pip-version-check --quiet \
		--require-hashes -r <(sed -n '/^uv==/,/[^\]$$/p' $<)
	@$(UV) pip install --quiet --python $(@D)/bin/python --require-hashes -r $<
	@$(UV) pip install --quiet --python $(@D)/bin/python --no-deps --no-build-isolation --editable .
	@touch $@
