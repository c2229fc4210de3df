# The tasks of developers and CI. `make` alone lists the targets.
.DEFAULT_GOAL := help
SHELL := /bin/sh
# Tests start thousands of processes. Where the environment forbids bytecode, each of them would compile Shunter again.
export PYTHONDONTWRITEBYTECODE :=
BIN := .venv/bin
TESTS := tests
# In CI, a test fails if it is skipped because something that can be installed is missing.
PYTEST := $(BIN)/python -m pytest $(if $(CI),--no-skips)
# Starts a cluster, runs a command inside, and stops it.
KUBE := scripts/kube_cluster.sh $${SHUNTER_KUBE_FOLDER:-/tmp/shunter-kube} run

.PHONY: help setup web test-web smoke-web screenshots setup-browser setup-bench setup-docker setup-etcd setup-redis setup-cluster setup-faketime setup-frameworks test-frameworks smoke-frameworks test-managers smoke-managers setup-observability test-observability smoke-observability setup-keycloak test-identity smoke-identity setup-go test-go test-compose setup-compose kube smoke-kube kube-sim setup-kube up down cluster cluster-down test check lint format types sim sim-ci sim-objects sim-managers chaos smoke-chaos fuzz lab-reproduce bench bench-small docs client proto lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# ---- use it ----

setup: ## create .venv with the locked dependencies and Shunter
	@sh scripts/setup.sh

up: setup ## start a local cluster in the background, with the web UI, and run a demo job
	@sh scripts/setup_web.sh build || echo "setup: the cluster starts without the web UI" >&2
	@sh scripts/demo.sh

down: setup ## stop the local cluster; its jobs and history stay
	@$(BIN)/shunter down

cluster: setup setup-cluster ## start 3 managers, 3 workers, PostgreSQL, etcd and Redis on this machine, below .cluster/
	@$(BIN)/python scripts/cluster.py up .cluster

cluster-down: ## stop and remove what `make cluster` started
	@$(BIN)/python scripts/cluster.py down .cluster

web: setup ## build the web UI into web/dist, which a running manager serves at once
	@sh scripts/setup_web.sh build

# ---- change it ----

# End-to-end tests wait half of the time, so a third process keeps two cores busy. tests/conftest.py orders the folders.
test: setup web setup-docker setup-etcd setup-redis setup-faketime ## run all tests except slow ones
	$(PYTEST) $(TESTS) -n 3 --dist loadfile --no-loadscope-reorder -m "not slow"

test-frameworks: setup setup-frameworks ## test BatchJobs with real Spark and Flink
	$(PYTEST) tests/frameworks

smoke-frameworks: setup setup-frameworks ## run the most important of these tests, as CI does
	$(PYTEST) -m smoke tests/frameworks

test-managers: setup setup-etcd setup-redis setup-cluster ## test several managers, PostgreSQL and etcd as real processes
	$(PYTEST) tests/managers

smoke-managers: setup setup-etcd setup-redis setup-cluster ## run the most important of these tests, as CI does
	$(PYTEST) -m smoke tests/managers

kube: setup setup-kube ## test the operator on a real Kubernetes, in a network namespace of its own
	@if missing=$$(sh scripts/setup_kube.sh check); then $(KUBE) $(PYTEST) tests/kube; else echo "kube: skipped: $$missing"; fi

smoke-kube: setup ## run the most important of these tests, where Kubernetes is built, as CI does
	@if missing=$$(sh scripts/setup_kube.sh check); then $(KUBE) $(PYTEST) -m smoke tests/kube; else echo "smoke-kube: skipped: $$missing"; fi

kube-sim: setup ## kill the operator at random points on an API server in memory, for 5,000 seeds
	SHUNTER_KUBE_SEEDS=5000 $(PYTEST) -q tests/unit/kube/test_faults.py

test-web: setup web setup-browser ## test the web UI in a real browser, and its pure code
	cd web && npm test
	$(PYTEST) tests/web

smoke-web: setup web setup-browser ## run the most important of these tests, as CI does
	$(PYTEST) -m smoke tests/web

screenshots: setup web setup-browser ## make the pictures of the README and the docs again
	$(BIN)/python scripts/make_screenshots.py

test-compose: setup setup-docker setup-compose ## test deploy/compose with a private Docker daemon and images built on the spot
	$(PYTEST) tests/compose

check: lint types test ## lint, types and tests; .ci/run also simulates, injects faults and runs small benchmarks

lint: setup ## check rules and format with ruff
	$(BIN)/ruff check
	$(BIN)/ruff format --check

format: setup ## fix and format the code with ruff
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

types: setup ## check types with mypy --strict
	$(BIN)/mypy

docs: setup ## regenerate cli.md, events.md, lifecycles.md, metrics.md and schema/ in docs/reference/
	$(BIN)/python scripts/generate_docs.py
	$(BIN)/python scripts/generate_events_page.py
	$(BIN)/python scripts/generate_metrics_page.py
	$(BIN)/python scripts/generate_alerts.py
	$(BIN)/python scripts/generate_dashboards.py
	$(BIN)/python scripts/generate_cli_docs.py
	$(BIN)/python scripts/generate_schema.py

client: setup ## generate the blocking client of the SDK from the async client
	$(BIN)/python scripts/generate_client.py

proto: setup ## generate the gRPC stubs from proto/
	$(BIN)/python scripts/generate_proto.py

lock: ## update both lock files (needs uv)
	sh scripts/lock.sh

# ---- stress it ----

sim: setup ## run thousands of simulated clusters with faults
	$(BIN)/python -m shunter.simulation --seeds 0-5000 --jobs 2

sim-ci: setup ## run a few hundred of them; `make test` runs the seeds before these
	$(BIN)/python -m shunter.simulation --seeds 40-300 --jobs 2
	$(BIN)/python -m shunter.simulation --seeds 1000020-1000140 --jobs 2
	$(BIN)/python -m shunter.simulation --seeds 2000020-2000319 --jobs 2
	$(BIN)/python -m shunter.simulation --seeds 3000020-3000139 --jobs 2

sim-objects: setup ## run ten thousand simulated clusters with testbeds, BatchJobs, Schedulings and faults
	$(BIN)/python -m shunter.simulation --seeds 1000000-1009999 --jobs 2

sim-managers: setup ## run ten thousand simulated clusters with one to five managers and their faults
	$(BIN)/python -m shunter.simulation --seeds 2000000-2009999 --jobs 2

chaos: setup setup-etcd setup-redis ## kill, cut off, fill up and lie to real clusters under load, for SHUNTER_CHAOS_SECONDS each
	$(PYTEST) tests/chaos -s

smoke-chaos: setup setup-etcd setup-redis ## the same for a short time, as CI does
	SHUNTER_CHAOS_SECONDS=$${SHUNTER_CHAOS_SECONDS:-25} SHUNTER_CHAOS_TASKS=$${SHUNTER_CHAOS_TASKS:-3000} $(PYTEST) tests/chaos -m smoke -n 2

# Requests for every operation of the API, bytes instead of HTTP, and random input for each parser.
FUZZ_TESTS := tests/e2e/test_fuzz.py tests/unit/model/job/test_manifests.py tests/unit/model/objects/test_object_manifests.py \
	tests/unit/model/files/test_yaml_reader.py tests/unit/api/stomp/test_frames.py tests/unit/api/stomp/test_session.py \
	tests/unit/worker/keeper/test_json_lines.py tests/unit/engine/nodes/test_untrusted_workers.py

fuzz: setup ## send random input to every operation and parser, for about half an hour
	SHUNTER_FUZZ_EXAMPLES=$${SHUNTER_FUZZ_EXAMPLES:-200} $(PYTEST) $(FUZZ_TESTS) --timeout 3600

lab-reproduce: setup ## run policies on public traces in SHUNTER_TRACES, and compare with published results
	$(BIN)/python -m scripts.lab_reproduce

setup-kube: ## build Kubernetes and its images, once, in the user's cache, if permitted
	@sh scripts/setup_kube.sh

setup-browser: ## install the browser that tests of the web UI need, if permitted
	@sh scripts/setup_web.sh browser

setup-docker: ## install what tests of containers need, if permitted
	@sh scripts/setup_docker.sh

setup-etcd: ## install what tests of several managers need, if permitted
	@sh scripts/setup_server.sh etcd etcd-server

setup-redis: ## install what tests of shared limits need, if permitted
	@sh scripts/setup_server.sh redis-server redis-server

setup-cluster: setup-etcd setup-redis ## install the servers that `make cluster` starts, if permitted
	@sh scripts/setup_server.sh postgres postgresql

setup-observability: setup ## install Prometheus and Alertmanager for tests of alerts, if permitted
	@sh scripts/setup_server.sh prometheus prometheus
	@sh scripts/setup_server.sh prometheus-alertmanager prometheus-alertmanager

test-observability: setup setup-observability ## test all alerts with a real Prometheus and Alertmanager
	$(PYTEST) tests/observability

smoke-observability: setup setup-observability ## run the most important of these tests, as CI does
	$(PYTEST) -m smoke tests/observability

setup-compose: ## install what `make test-compose` needs, if permitted
	@sh scripts/setup_server.sh docker-compose docker-compose
	@sh scripts/setup_server.sh debootstrap debootstrap

setup-faketime: ## install what tests of changed dates need, if permitted
	@sh scripts/setup_server.sh faketime faketime

setup-keycloak: setup ## install Java and Keycloak for tests of single sign-on, if permitted
	@sh scripts/setup_keycloak.sh

test-identity: setup setup-keycloak ## test single sign-on with a real Keycloak
	$(PYTEST) tests/identity

smoke-identity: setup setup-keycloak setup-go ## run the most important of these tests and those in Go, as CI does
	$(PYTEST) -m smoke tests/identity tests/foreign

setup-go: setup ## install Go for tests with foreign stubs, if permitted
	@sh scripts/setup_go.sh

test-go: setup setup-go ## test gRPC of clients and workers from Go, with stubs generated from proto/
	$(PYTEST) tests/foreign

setup-frameworks: setup ## install Java, Spark and Flink for BatchJobs, if permitted
	@sh scripts/setup_frameworks.sh

setup-bench: setup ## add the peers of the benchmarks to .venv
	@sh scripts/setup.sh bench

bench: setup-bench ## run all benchmarks, each next to its peer
	$(BIN)/python -m benchmarks.all

bench-small: setup-bench ## run all benchmarks at a small size
	$(BIN)/python -m benchmarks.all --small

clean: ## remove .venv and all caches
	rm -rf .venv .versions .mypy_cache .ruff_cache .pytest_cache .hypothesis dist
	find src tests benchmarks scripts -name __pycache__ -type d -prune -exec rm -rf {} +
