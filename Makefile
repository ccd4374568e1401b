# Needs python3 (3.11 or newer) and make, and uses `uv` where it is on the PATH.

SHELL := bash
PYTHON ?= python3
PORT ?= 8000
TESTS ?=

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
UV := $(or $(shell command -v uv),$(BIN)/uv)

# A server of its own for each process, so that no two tests meet.
PYTEST := -m pytest --numprocesses auto --maxprocesses 4 --dist worksteal

# Everything but the pages and the commands is covered in every branch.
CORE := portal/*.py,portal/directory/*.py

.DEFAULT_GOAL := help
.PHONY: help demo test check lint format types lock clean

help: ## What can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

demo: $(INSTALLED) ## An organisation to try, on http://127.0.0.1:8000 (PORT=… for another port)
	@$(BIN)/portal demo --port $(PORT)

test: $(INSTALLED) ## The tests (TESTS=… for some: a path or any options of pytest)
	@$(BIN)/python $(PYTEST) $(TESTS)

check: lint types ## What has to pass: lint, types, and the tests with the core's coverage
	@$(BIN)/coverage erase
	@$(BIN)/coverage run $(PYTEST)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report --include='$(CORE)' --fail-under=100

lint: $(INSTALLED) ## Style and formatting of the Python code
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check

format: $(INSTALLED) ## Formats the Python code
	@$(BIN)/ruff format
	@$(BIN)/ruff check --fix

types: $(INSTALLED) ## mypy --strict over the package and the tests
	@$(BIN)/mypy

lock: $(INSTALLED) ## Pins the dependencies anew (UPGRADE=--upgrade for newer versions)
	@$(UV) pip compile --quiet $(UPGRADE) --universal --generate-hashes --no-annotate --no-header \
		--extra postgres --extra test pyproject.toml --output-file requirements.lock

clean: ## Removes what make made
	rm -rf $(VENV) .cache .coverage* .hypothesis .mypy_cache .pytest_cache .ruff_cache dist

# uv itself comes from the lock too, because it installs three times as fast as pip.
$(INSTALLED): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed: make PYTHON=…" >&2; exit 1; }
	@echo "Setting up $(VENV) with $$(grep -c == requirements.lock) packages (once) …"
	@$(PYTHON) -m venv $(VENV)
	@command -v $(UV) >/dev/null || $(BIN)/python -m pip install --disable-pip-version-check --quiet \
		--require-hashes -r <(sed -n '/^uv==/,/[^\]$$/p' requirements.lock)
	@$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@
