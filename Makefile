# Everything a developer or CI does with Shunter. `make` alone lists the targets.
.DEFAULT_GOAL := help
SHELL := /bin/sh
# Tests start thousands of processes. Where the environment forbids bytecode, each of them would compile Shunter again.
export PYTHONDONTWRITEBYTECODE :=
BIN := .venv/bin
TESTS := tests
# In CI, a test that is skipped for want of something that can be installed fails.
PYTEST := $(BIN)/python -m pytest $(if $(CI),--no-skips)

.PHONY: help setup setup-bench setup-docker setup-frameworks test-frameworks up down test check lint format types sim sim-ci sim-objects crash bench bench-small docs client proto lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# ---- use it ----

setup: ## make .venv with the locked dependencies and shunter in it
	@sh scripts/setup.sh

up: setup ## start the embedded cluster in the background and run a demo job
	@sh scripts/demo.sh

down: setup ## stop the cluster; its jobs and history stay
	@$(BIN)/shunter down

# ---- change it ----

# End-to-end tests wait half of the time, so a third process keeps two cores busy. tests/conftest.py orders the folders.
test: setup setup-docker ## all everyday tests
	$(PYTEST) $(TESTS) -n 3 --dist loadfile --no-loadscope-reorder -m "not slow"

test-frameworks: setup setup-frameworks ## BatchJobs with real Spark and Flink
	$(PYTEST) tests/frameworks

check: lint types test ## what CI asks of every change: lint, types, tests

lint: setup ## ruff: rules and format
	$(BIN)/ruff check
	$(BIN)/ruff format --check

format: setup ## let ruff mend what it can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

types: setup ## mypy --strict
	$(BIN)/mypy

docs: setup ## regenerate cli.md, events.md, lifecycles.md and schema/ in docs/reference/
	$(BIN)/python scripts/generate_docs.py
	$(BIN)/python scripts/generate_events_page.py
	$(BIN)/python scripts/generate_cli_docs.py
	$(BIN)/python scripts/generate_schema.py

client: setup ## write again the blocking client of the SDK from the async one
	$(BIN)/python scripts/generate_client.py

proto: setup ## write again the gRPC stubs from proto/
	$(BIN)/python scripts/generate_proto.py

lock: ## resolve the dependencies again (needs uv) and write both lock files
	sh scripts/lock.sh

# ---- shake it ----

sim: setup ## thousands of simulated clusters with faults
	$(BIN)/python -m shunter.simulation --seeds 0-5000 --jobs 2

sim-ci: setup ## the same, bounded; `make test` runs the first 40 seeds of both kinds
	$(BIN)/python -m shunter.simulation --seeds 40-300 --jobs 2
	$(BIN)/python -m shunter.simulation --seeds 1000040-1000140 --jobs 2

sim-objects: setup ## ten thousand simulated clusters with testbeds, batch jobs and schedulings, and faults
	$(BIN)/python -m shunter.simulation --seeds 1000000-1009999 --jobs 2

crash: setup ## kill real managers, workers and keepers under load
	$(PYTEST) tests/e2e -m crash -n 2

setup-docker: ## install what tests of containers need, where that is allowed
	@sh scripts/setup_docker.sh

setup-frameworks: setup ## install Java, Spark and Flink for BatchJobs, where that is allowed
	@sh scripts/setup_frameworks.sh

setup-bench: setup ## add the benchmarks' peers to .venv
	@sh scripts/setup.sh bench

bench: setup-bench ## all benchmarks, each beside its peer
	$(BIN)/python -m benchmarks.all

bench-small: setup-bench ## the benchmarks in small, to see that they run
	$(BIN)/python -m benchmarks.all --small

clean: ## remove .venv and every cache
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis dist
	find src tests benchmarks scripts -name __pycache__ -type d -prune -exec rm -rf {} +
