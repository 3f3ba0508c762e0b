# On a fresh machine with Python >= 3.11 and make, every target does its own set-up.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
CORE := .venv/.core
LOWEST := .venv-lowest
AUDIT := .venv-audit
# Two processes. The tests of a file stay in one of them, so that what they share is built and compiled once.
TWO := --numprocesses 2 --dist loadfile --no-loadscope-reorder

.PHONY: env demo quick test long lowest audit lint format docs bench dist container smoke clean

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

# Before a commit: everything but the tests marked slow or long.
quick: env lint
	$(BIN)/python -m pytest -m "not (slow or long)" $(TWO)

# Before a merge, and in continuous integration: everything but the tests marked long.
test: env lint
	$(BIN)/python -m pytest -m "not long" $(TWO)

# After a change to a guarantee, and before a release: minutes of Monte Carlo about claims that `make test` samples.
long: env
	$(BIN)/python -m pytest -m long $(TWO)

# The quick tests with the lowest versions that pyproject.toml allows, in an environment of their own. Old versions use
# what their own dependencies have deprecated since, which is not our concern here.
lowest: $(LOWEST)/.ready
	$(LOWEST)/bin/python -m pytest -m "not (slow or long)" $(TWO) \
		-W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning

$(LOWEST)/.ready: pyproject.toml scripts/lowest.py
	$(PYTHON) -m venv --clear $(LOWEST)
	$(PYTHON) scripts/lowest.py > $(LOWEST)/pins.txt
	# uv finds versions that go together in seconds, or says which do not; pip tries them one after the other for half an
	# hour. The test client of the oldest Starlette wants httpx, that of the newest httpx2; MLflow wants
	# alembic for SQLite.
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check 'uv>=0.13'
	$(LOWEST)/bin/uv pip install --quiet --system-certs --python $(LOWEST)/bin/python \
		--requirement $(LOWEST)/pins.txt --editable . httpx alembic
	touch $(LOWEST)/.ready

# Looks every installed package up in a public database of known vulnerabilities. Needs the network: with --strict a
# package that could not be looked up is a failure, and not a good sign.
audit: env
	$(PYTHON) -m venv --clear $(AUDIT)
	$(AUDIT)/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	$(BIN)/python -m pip freeze --exclude-editable > $(AUDIT)/installed.txt
	$(AUDIT)/bin/pip-audit --strict --requirement $(AUDIT)/installed.txt --no-deps --disable-pip

lint: env
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: env
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The documentation site, in build/site: links checked; gallery, notebooks and API by the current code.
docs: env
	$(BIN)/python scripts/cli_reference.py
	$(BIN)/python -m scripts.site

bench: env
	for file in benchmarks/*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

# Builds the sdist and the wheel into dist/, and tries the wheel where there is nothing else. See docs/releasing.md.
dist:
	$(PYTHON) scripts/smoke.py --only wheel

# Builds the image and runs the demo in it: make container ENGINE=podman. Where no engine answers, that is said, and the
# Dockerfile is followed in a folder.
ENGINE ?= docker
container:
	$(PYTHON) scripts/smoke.py --only container --engine $(ENGINE)

# Wheel, sdist and image, each built and tried where there is nothing else.
smoke:
	$(PYTHON) scripts/smoke.py --engine $(ENGINE)

clean:
	rm -rf .venv $(LOWEST) $(AUDIT) dist .pytest_cache .mypy_cache .ruff_cache .hypothesis build
