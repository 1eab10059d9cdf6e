# `make help` lists the targets. Everything runs in .venv, made from the locked versions in requirements/.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup demo ui test test-long lint format interop options histories matrix simulate torture tpc dist wheels versions indexes queries followers restarts endtoend bench bench-planning bench-indexes structure docs site lock clean

# Without the files of compiled code, each of the many processes compiles the project again.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip install --disable-pip-version-check --progress-bar off
SITE := build/site-tools
WAREHOUSE ?= warehouse
MINUTES ?= 10
SEED ?= 1
COUNT ?= 20000
ROWS ?= 1000000
RESTARTS ?= 500
FIRST ?= 1000
KILLS ?= 60
VERSION ?= 1.4.2

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

setup: $(READY) ## Make the environment (Python packages, and Java where none fits)

$(READY): requirements/locked.txt requirements/java.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version.split()[0])'
	@echo "Installing the locked packages into $(VENV) (about a minute; PySpark is the largest) ..."
	$(PYTHON) -m venv $(VENV)
	$(PIP) --quiet "$$(grep '^uv==' requirements/locked.txt)"
	@# uv takes less than half of the CPU time of pip, but does not read the configuration of pip: its index, proxies and certificates.
	$(BIN)/uv pip install --python $(BIN)/python -r requirements/locked.txt || $(PIP) -r requirements/locked.txt
	$(PIP) --quiet --no-deps --no-build-isolation --editable .
	$(BIN)/python -m table_format.java --install requirements/java.txt
	@touch $(READY)

demo: setup ## Run the main job headless on a local warehouse and print what it did
	$(BIN)/python -m jobs.demo --warehouse $(WAREHOUSE)

ui: setup ## Open the Dagster UI on the same history (http://localhost:3000)
	$(BIN)/dagster dev -w workspace.yaml

# A test that does not end would hold up all checks, and may fill the disk.
PYTEST := $(BIN)/python -m pytest --timeout 900 -n 2 --dist loadfile --no-loadscope-reorder --durations 20 --durations-min 5

test: setup ## Run the tests except the long ones, with LONG=yes also these, with LONG=3/10 a share of them (nothing but PyPI is needed)
	$(BIN)/python -m tests.support.shared_classes
	$(PYTEST) -m "not oracle" --long $(or $(LONG),no)

test-long: setup ## Run the long tests: matrices, searches, clusters, installations (nothing but PyPI is needed)
	$(BIN)/python -m tests.support.shared_classes
	$(PYTEST) -m "not oracle" --long only

lint: setup ## Style, types and import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup ## Rewrite the code in the one style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

matrix: setup ## Run every combination of tables, settings and ways, and all examples of properties; the tests run some
	MATRIX=1 $(BIN)/python -m pytest -m "not oracle" $$(grep -rlE "support.matrix import|^ *@given" tests --include="test_*.py")

interop: setup ## Read and write side by side with the real Apache Paimon (needs a JDK and Maven); VERSION=1.4.2 or 2.0.0, LONG=no
	$(BIN)/python -m tests.oracle.install
	PAIMON_ORACLE_VERSION=$(VERSION) $(BIN)/python -m pytest -m oracle --long $(or $(LONG),yes) -n 2 --dist worksteal --durations 20 --durations-min 5 tests/oracle tests/io tests/spark/test_hdfs.py

options: setup ## Draw tables from the declared options: what CREATE accepts works here and in the real Paimon; SEED=1
	$(BIN)/python -m tests.oracle.install
	$(BIN)/python -m tests.options.accepted_tables --seed $(SEED) --count 500 --oracle

histories: setup ## Write 1,050 random histories, and 64 tables with dynamic buckets, in turn with the real Paimon and pypaimon; FIRST=1000
	$(BIN)/python -m tests.oracle.install
	RANDOM_MERGES=150 RANDOM_READS=70 HAND_OVERS=16 HAND_OVERS_OF_THREE=4 HAND_OVERS_FIRST_SEED=$(FIRST) \
		DYNAMIC_HAND_OVERS=16 MATRIX=1 $(BIN)/python -m pytest -m oracle -rA -n 2 \
		tests/oracle/test_hand_over_histories.py tests/oracle/test_dynamic_bucket.py \
		tests/oracle/test_random_merges.py tests/oracle/test_random_reads.py \
		$$(grep -l "support.matrix import" tests/oracle/test_*.py)

simulate: setup ## Search schedules and faults for a broken invariant
	$(BIN)/python -m tests.simulation.search --seeds 5000
	$(BIN)/python -m tests.simulation.open_writes --seeds 1000
	$(BIN)/python -m tests.support.acknowledged --seeds 20

torture: setup ## Kill, interrupt and stop processes that work on one table; MINUTES=10
	$(BIN)/python -m tests.torture --minutes $(MINUTES)

indexes: setup ## Damage file indexes, look up every value in them, and hand tables with them over and back
	$(BIN)/python -m tests.corruption.file_indexes --damages 24000
	$(BIN)/python -m tests.kernels.file_index.look_ups
	INDEX_HAND_OVERS=155 $(BIN)/python -m pytest -m oracle -s tests/oracle/test_index_hand_overs.py

queries: setup ## Compare random queries and writes on Spark with one process; SEED=1 COUNT=20000
	$(BIN)/python -m tests.queries --seed $(SEED) --count $(COUNT)
	RANDOM_STATEMENTS=100 $(BIN)/python -m pytest tests/spark/dml/test_random_statements.py

tpc: setup ## Run the queries of TPC-H and TPC-DS on tables, on Spark and with DuckDB, and compare them with plain rows
	$(BIN)/python -m tests.tpc

followers: setup ## Follow random tables with streams, streaming queries and sensors that stop and continue; SEED=1
	$(BIN)/python -m tests.table.read.followed_tables --seed $(SEED) --count 500
	$(BIN)/python -m tests.spark.stream.followed_queries --seed $(SEED) --count 150
	$(BIN)/python -m tests.dagster_paimon.sensors.followed_histories --seed $(SEED) --count 150
	ARRIVALS=30 $(BIN)/python -m pytest tests/dagster_paimon/sensors/test_changed_partitions.py

restarts: setup ## Kill streaming queries at any step, start them again, and compare what they wrote; RESTARTS=500
	$(BIN)/python -m tests.spark.stream.restarts --seed $(SEED) --count $(RESTARTS)
	$(BIN)/python -m tests.spark.stream.killed_queries --seed $(SEED) --count $(KILLS)

endtoend: setup ## Run the shop with a webserver and a daemon, strike at its runs, and compare the tables
	$(BIN)/python -m tests.endtoend

bench: setup ## Measure the workloads side by side with plain Spark and the peers; ROWS=1000000
	$(BIN)/python -m benchmarks.run --rows $(ROWS)
	$(BIN)/python -m benchmarks.spark_loads --rows $(ROWS)
	$(BIN)/python -m benchmarks.spark_scans --rows $(ROWS)
	$(MAKE) bench-planning

bench-planning: setup ## Measure what it costs to plan reads of many files, alone and beside plain Spark
	$(BIN)/python -m benchmarks.planning
	$(BIN)/python -m benchmarks.planning --spark

bench-indexes: setup ## Measure what file indexes save and cost, beside plain Spark, DuckDB and the real Paimon
	$(BIN)/python -m benchmarks.file_indexes
	$(BIN)/python -m benchmarks.index_pages
	$(BIN)/python -m benchmarks.index_building

structure: setup ## Measure the source: modules, import depth, sizes, docstrings
	$(BIN)/python -m benchmarks.structure

docs: setup ## Generate the references in docs/ from the declarations
	$(BIN)/python -m table_format.options > docs/options.md
	$(BIN)/python -m table_format.kernels.aggregates > docs/aggregate-functions.md
	$(BIN)/python -m table_format.procedures > docs/procedures.md

site: setup ## Build the documents as a site in build/site, with its links checked
	@test -x $(SITE)/bin/mkdocs || $(BIN)/python -m venv $(SITE)
	$(BIN)/uv pip install --quiet --python $(SITE)/bin/python -r requirements/site.txt || \
		$(SITE)/bin/python -m pip install --disable-pip-version-check --quiet -r requirements/site.txt
	NO_MKDOCS_2_WARNING=1 $(SITE)/bin/mkdocs build --quiet --strict

dist: setup ## Build the wheel and the source distribution into dist/
	rm -rf dist
	$(BIN)/uv build --python $(BIN)/python --no-build-isolation --out-dir dist

wheels: dist ## Install the wheel from PyPI into an empty environment for each extra, and use it there
	$(BIN)/python -m tests.wheel dist/*.whl

versions: setup ## Test the lowest and the highest declared versions, on every Python found here
	$(BIN)/python -m tests.versions

lock: setup ## Resolve the versions again
	$(BIN)/uv pip compile --universal --python-version 3.11 pyproject.toml --group dev --extra all \
		--no-header --no-emit-index-url --no-annotate --upgrade -o requirements/locked.txt
	$(BIN)/uv pip compile --universal --python-version 3.11 --group pyproject.toml:site \
		--no-header --no-emit-index-url --no-annotate --upgrade -o requirements/site.txt

clean: ## Remove what the targets made, except the environment
	rm -rf $(WAREHOUSE) spark-warehouse .mypy_cache .ruff_cache .hypothesis build dist
