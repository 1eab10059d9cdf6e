# `make help` lists the targets. Everything runs in .venv, made from the locked versions in requirements/.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup demo ui test lint format interop simulate torture indexes endtoend bench bench-indexes structure docs lock clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WAREHOUSE ?= warehouse
MINUTES ?= 10

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

setup: $(READY) ## Make the environment (Python packages, and Java where none fits)

$(READY): requirements/locked.txt requirements/java.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version.split()[0])'
	@echo "Installing the locked packages into $(VENV) (about a minute; PySpark is the largest) ..."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --progress-bar off -r requirements/locked.txt | sed -u -n 's/^Collecting /  &/p'
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation --editable .
	$(BIN)/python -m dagster_paimon.resources.java --install requirements/java.txt
	@touch $(READY)

demo: setup ## Run the main job headless on a local warehouse and print what it did
	$(BIN)/python -m jobs.demo --warehouse $(WAREHOUSE)

ui: setup ## Open the Dagster UI on the same history (http://localhost:3000)
	$(BIN)/dagster dev -w workspace.yaml

test: setup ## Run the tests (nothing but PyPI is needed)
	$(BIN)/python -m pytest -m "not oracle" -n 2 --dist loadfile --no-loadscope-reorder

lint: setup ## Style, types and import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup ## Rewrite the code in the one style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

interop: setup ## Read and write side by side with the real Apache Paimon (needs a JDK and Maven)
	$(BIN)/python -m tests.oracle.install
	$(BIN)/python -m pytest -m oracle -n 2 --dist load tests/oracle

simulate: setup ## Search schedules and faults for a broken invariant
	$(BIN)/python -m tests.simulation.search --seeds 5000

torture: setup ## Kill, interrupt and stop processes that work on one table; MINUTES=10
	$(BIN)/python -m tests.torture --minutes $(MINUTES)

indexes: setup ## Damage file indexes, look up every value in them, and hand tables with them over and back
	$(BIN)/python -m tests.corruption.file_indexes --damages 24000
	$(BIN)/python -m tests.kernels.file_index.look_ups
	INDEX_HAND_OVERS=155 $(BIN)/python -m pytest -m oracle -s tests/oracle/test_index_hand_overs.py

endtoend: setup ## Run the shop with a webserver and a daemon, strike at its runs, and compare the tables
	$(BIN)/python -m tests.endtoend

bench: setup ## Measure the workloads side by side with plain Spark and the peers
	$(BIN)/python -m benchmarks.run

bench-indexes: setup ## Measure what file indexes save and cost, beside plain Spark, DuckDB and the real Paimon
	$(BIN)/python -m benchmarks.file_indexes
	$(BIN)/python -m benchmarks.index_pages
	$(BIN)/python -m benchmarks.index_building

structure: setup ## Measure the source: modules, floors of imports, sizes, docstrings
	$(BIN)/python -m benchmarks.structure

docs: setup ## Generate the references in docs/ from the declarations
	$(BIN)/python -m table_format.options > docs/options.md
	$(BIN)/python -m table_format.kernels.aggregates > docs/aggregate-functions.md
	$(BIN)/python -m table_format.procedures > docs/procedures.md

lock: ## Resolve the versions again (needs uv)
	uv pip compile --universal --python-version 3.11 pyproject.toml --group dev --extra dagster --extra connect --extra frames \
		--no-header --no-emit-index-url --no-annotate --upgrade -o requirements/locked.txt

clean: ## Remove what the targets made, except the environment
	rm -rf $(WAREHOUSE) spark-warehouse .mypy_cache .ruff_cache .hypothesis build dist
