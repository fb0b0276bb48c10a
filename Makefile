# The one menu. Everything works on a fresh machine with Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
CLAUDE_VERSION := 2.1.332
CLAUDE_BIN ?= $(CURDIR)/.cache/claude/node_modules/.bin/claude
OPENCODE_VERSION := 1.18.33
OPENCODE_BIN ?= $(CURDIR)/.cache/opencode/node_modules/.bin/opencode
CODEX_VERSION := 0.171.0
CODEX_BIN ?= $(CURDIR)/.cache/codex/node_modules/.bin/codex
GEMINI_VERSION := 0.61.0
GEMINI_BIN ?= $(CURDIR)/.cache/gemini/node_modules/.bin/gemini

# Tests start many processes, which would each compile every module without these caches.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-all coverage slow check e2e wheel docs bench install clean

help: ## show this menu
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("memoryd needs Python 3.11 or newer; set PYTHON=python3.x" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

install: $(STAMP) ## set up .venv with memoryd and its tools

demo: $(STAMP) ## remember three sample sessions, then ask about them
	@$(BIN)/python -m memoryd.demo

# Three processes for two cores, because many tests wait for a program that they started.
test: $(STAMP) ## the fast test suite (under 3 minutes on two cores)
	$(BIN)/python -m pytest -n 3 --dist loadfile

test-all: $(STAMP) ## the slow tests too
	$(BIN)/python -m pytest -m 'not e2e'

# The slow tests of these folders use no browser and take two minutes.
COVERED := tests/memoryd/api tests/memoryd/citations tests/memoryd/cli tests/memoryd/recall tests/memoryd/router \
	tests/memeval/reporting tests/memeval/claudecode
coverage: $(STAMP) ## the share of lines that the fast tests and some slow ones run (at least 95 %)
	$(BIN)/python -m pytest -n 3 --dist loadfile --hypothesis-profile=thorough --cov --cov-report= --cov-fail-under=0
	$(BIN)/python -m pytest -n 2 -m 'slow and not e2e' --cov --cov-append --cov-report term:skip-covered $(COVERED)

# First paint is timed on a machine that does nothing else; the other slow tests share it.
TIMED := tests/memoryd/console/browser/test_browser_speed.py
slow: $(STAMP) ## the slow tests that 'make coverage' leaves out
	$(BIN)/python -m pytest -n 2 -m 'slow and not e2e' $(addprefix --ignore=,$(TIMED) $(COVERED))
	$(BIN)/python -m pytest -m 'slow and not e2e' $(TIMED)

check: $(STAMP) ## ruff, mypy --strict, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy hooks plugin
	$(BIN)/mypy tests benchmarks
	$(BIN)/python -m pytest tests/test_layers.py

$(CLAUDE_BIN):
	mkdir -p .cache/claude
	cd .cache/claude && npm install --silent --no-fund --no-audit --prefix . @anthropic-ai/claude-code@$(CLAUDE_VERSION)

$(OPENCODE_BIN):
	mkdir -p .cache/opencode
	cd .cache/opencode && npm install --silent --no-fund --no-audit --prefix . opencode-ai@$(OPENCODE_VERSION)

$(CODEX_BIN):
	mkdir -p .cache/codex
	cd .cache/codex && npm install --silent --no-fund --no-audit --prefix . @openai/codex@$(CODEX_VERSION)

$(GEMINI_BIN):
	mkdir -p .cache/gemini
	cd .cache/gemini && npm install --silent --no-fund --no-audit --prefix . @google/gemini-cli@$(GEMINI_VERSION)

e2e: $(STAMP) $(CLAUDE_BIN) $(OPENCODE_BIN) $(CODEX_BIN) $(GEMINI_BIN) ## drive the real clients against a scripted model
	CLAUDE_BIN='$(CLAUDE_BIN)' OPENCODE_BIN='$(OPENCODE_BIN)' CODEX_BIN='$(CODEX_BIN)' GEMINI_BIN='$(GEMINI_BIN)' \
		$(BIN)/python -m pytest -n 2 --dist loadfile -m e2e

wheel: $(STAMP) ## build the wheel, install it in an empty environment, and run its demo there
	rm -rf .cache/wheel .cache/empty
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir .cache/wheel .
	rm -rf build
	$(PYTHON) -m venv .cache/empty
	.cache/empty/bin/python -m pip install --quiet .cache/wheel/*.whl
	cd .cache/empty && bin/python -m memoryd.demo && bin/memeval --version && bin/memoryd --version

docs: $(STAMP) ## rewrite what the documents repeat from the code
	$(BIN)/python docs/generate.py

bench: $(STAMP) ## measure speed and size, and print tables (BENCH=--quick: up to 10,000 memories)
	$(BIN)/python -m benchmarks $(BENCH)

clean: ## remove .venv and caches
	rm -rf $(VENV) .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist *.egg-info
