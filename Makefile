# Everything sets itself up: `make demo` and `make test` need a Python of 3.11 or newer, and Node 20 or newer for the
# tests against the TypeScript SDK. Versions come from the constraints files; what is there already is left alone.
#
#   make demo            one whole turn between a client and an agent, drawn in the terminal
#   make test            all checks and all tests            (ARGS="-k permission" goes to pytest)
#   make check           ruff, mypy, pyright
#   make format          rewrites the sources as `check` wants them
#   make bench           measures against the official SDKs  (ARGS="--quick" goes to the bench)
#   make peers-install   the official SDKs, into .peers/
#   make lock            renews the constraints files
#   make clean           removes all that this file has made

PYTHON ?= python3
ARGS   ?=
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check install --quiet

# A stamp is named after the contents it stands for, so a second run has nothing to do, whatever a checkout did to
# the times of files.
key   = $(shell cat $(1) | cksum | tr ' ' '-')
DEMO := $(VENV)/.demo-$(call key,constraints-demo.txt pyproject.toml)
DEV  := $(VENV)/.dev-$(call key,constraints.txt pyproject.toml)
SDK  := .peers/.python-sdk-$(call key,constraints-python-sdk.txt)
NODE := .peers/.typescript-$(call key,tests/peers/package-lock.json)

TYPED := src $(wildcard tests/typing)

.PHONY: demo test check format bench peers-install lock clean
.DEFAULT_GOAL := test

demo: $(DEMO)
	@$(BIN)/acpwire demo $(ARGS)

test: check peers-install
	$(BIN)/python -m pytest $(ARGS)

check: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(TYPED)
	@if command -v node >/dev/null; then \
	  echo "$(BIN)/pyright $(TYPED)"; $(BIN)/pyright --pythonpath $(BIN)/python $(TYPED); \
	else \
	  echo "make: pyright was left out: it needs Node 20 or newer on PATH" >&2; test -z "$$CI"; \
	fi

format: $(DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(DEV) peers-install
	$(BIN)/python bench/run.py $(ARGS)

peers-install: $(SDK) $(NODE)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "make: this needs Python 3.11 or newer; say where it is with PYTHON=, as in: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; \
	  exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "make: \`$(PYTHON) -m venv\` failed; on Debian and Ubuntu, install the package python3-venv" >&2; \
	  rm -rf $(VENV); exit 1; }

$(DEMO): | $(BIN)/python
	@echo "setting up $(VENV) for the demo ..." >&2
	@$(PIP) --require-hashes --no-deps --requirement constraints-demo.txt
	@$(PIP) --no-deps --no-build-isolation --editable .
	@rm -f $(VENV)/.demo-*; touch $@

$(DEV): | $(BIN)/python
	@echo "setting up $(VENV) for development ..." >&2
	@$(PIP) --require-hashes --no-deps --requirement constraints.txt
	@$(PIP) --no-deps --no-build-isolation --editable .
	@rm -f $(VENV)/.dev-*; touch $@

$(SDK): | $(BIN)/python
	@echo "setting up .peers/python-sdk ..." >&2
	@rm -rf .peers/python-sdk .peers/.python-sdk-*
	@$(BIN)/python -m venv .peers/python-sdk
	@.peers/python-sdk/bin/python -m pip --disable-pip-version-check install --quiet \
	  --require-hashes --no-deps --requirement constraints-python-sdk.txt
	@touch $@

# Without Node nothing is made, and the tests against it are skipped; in CI that is an error.
$(NODE):
	@if command -v npm >/dev/null; then \
	  echo "setting up .peers/typescript ..." >&2; \
	  rm -rf .peers/typescript .peers/.typescript-*; mkdir -p .peers/typescript && \
	  cp tests/peers/package.json tests/peers/package-lock.json .peers/typescript/ && \
	  npm ci --prefix .peers/typescript --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error >&2 && \
	  ln -sfn ../../.peers/typescript/node_modules tests/peers/node_modules && touch $@; \
	else \
	  echo "make: no Node on PATH: the tests against the TypeScript SDK will be skipped" >&2; test -z "$$CI"; \
	fi

LOCK := .venv-lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
	--generate-hashes --no-header --no-annotate --no-emit-find-links --no-emit-index-url

lock: | $(BIN)/python
	@$(BIN)/python -m venv .venv-lock
	@.venv-lock/bin/python -m pip --disable-pip-version-check install --quiet uv==0.13.9
	$(LOCK) pyproject.toml --group dev --extra cli --output-file constraints.txt
	echo hatchling | $(LOCK) pyproject.toml - --extra cli --constraints constraints.txt --output-file constraints-demo.txt
	echo agent-client-protocol==0.12.1 | $(LOCK) - --output-file constraints-python-sdk.txt
	cd tests/peers && npm install --package-lock-only --omit-lockfile-registry-resolved --ignore-scripts --loglevel=error

clean:
	rm -rf $(VENV) .venv-lock .peers tests/peers/node_modules dist build .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find $(wildcard src tests bench) -name __pycache__ -type d -prune -exec rm -rf {} +
