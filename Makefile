# make run   a served editor            make test   everything that is tested without an accelerator
# make check lint, types, room contract  make long / gpu / bench / wheel   see docs/testing.md

PYTHON ?= python3
# Installed first: left to itself pip takes the largest build of torch there is. Anything pip accepts may stand here.
# The range that Rushes works with is in pyproject.toml.
TORCH ?= torch==2.13.0
ADDRESS ?= 127.0.0.1:8190

VENV := .venv
BIN := $(VENV)/bin
SETUP := $(VENV)/.setup-done
NODE_READY := $(VENV)/.node-ready
MODULES := frontend/node_modules/.package-lock.json
EDITOR := backend/static/index.html
EDITOR_SOURCES := $(shell find frontend -type f -not -path '*/node_modules/*' 2>/dev/null)
NPM := PATH="$(CURDIR)/$(BIN):$$PATH" npm --prefix frontend

.PHONY: setup editor run test check long gpu bench wheel browser clean
.DELETE_ON_ERROR:
.NOTPARALLEL:

setup: $(SETUP)

$(SETUP): pyproject.toml .ci/venv
	PYTHON="$(PYTHON)" .ci/venv $(VENV)
	$(BIN)/python -m pip install --quiet $(TORCH)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

# A Node of the machine that is new enough, else the one that a Python package carries.
$(NODE_READY): $(SETUP) .ci/node
	.ci/node $(VENV)
	@touch $@

$(MODULES): $(NODE_READY) frontend/package.json frontend/package-lock.json
	$(NPM) ci --no-audit --no-fund --loglevel=error
	@touch $@

$(EDITOR): $(MODULES) $(EDITOR_SOURCES)
	$(NPM) run --silent build
	@touch $@

editor: $(EDITOR)

run: $(SETUP) $(EDITOR)
	$(BIN)/rushes serve --host $(firstword $(subst :, ,$(ADDRESS))) --port $(lastword $(subst :, ,$(ADDRESS)))

browser:
	.ci/browser

test: $(SETUP) $(EDITOR) browser
	$(NPM) run --silent test
	$(BIN)/python -m pytest $(PYTEST)

check: $(SETUP) $(MODULES)
	$(BIN)/ruff check .
	$(BIN)/mypy -p rushes
	$(BIN)/lint-imports
	$(NPM) run --silent types

long: $(SETUP) $(EDITOR) browser
	$(BIN)/python -m pytest -m long $(PYTEST)

gpu: $(SETUP)
	$(BIN)/python -m pytest -m gpu $(PYTEST)

bench: $(SETUP) $(EDITOR)
	$(BIN)/python -m benchmarks.compiler growth
	$(BIN)/python -m benchmarks.rollout_latency

wheel: $(SETUP) $(EDITOR)
	rm -rf build dist
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	rm -rf build
	@ls dist

clean:
	rm -rf $(VENV) backend/static frontend/node_modules build dist *.egg-info
