# On a fresh machine with Python >= 3.11 and make: `make demo` and `make test` do all the set-up themselves.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
CORE := .venv/.core

.PHONY: env demo test lint format docs bench clean

env: $(READY)

$(READY): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $(READY) $(CORE)

# What a user installs, and nothing for developers: enough for the demo, and quick.
$(CORE): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $(CORE)

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "fewlabels needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv .venv

demo: $(CORE)
	$(BIN)/fewlabels demo

test: env lint
	$(BIN)/python -m pytest --numprocesses 2

lint: env
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: env
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: env
	$(BIN)/python scripts/cli_reference.py

bench: env
	for file in benchmarks/*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis
