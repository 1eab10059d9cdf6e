"""The project in Dagster: it loads without warnings and without Spark, and is complete."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import dagster as dg
import pytest
import yaml

from assets import MANAGED_TABLES, PIPELINE_TABLES
from dagster_paimon.resources.spark import SparkResource
from definitions import defs

# What is beta is filtered by definitions.py; pytest sets filters of its own for each test.
pytestmark = [
    pytest.mark.dagster,
    pytest.mark.filterwarnings("ignore::dagster.BetaWarning"),
]

ROOT = Path(__file__).resolve().parent.parent.parent

_LOAD = """
import json, sys
import definitions
heavy = [name for name in ("pyspark", "py4j", "numba", "pandas") if name in sys.modules]
import table_format.catalog.load
print(json.dumps({"heavy": heavy}))
"""


def in_a_fresh_process(code: str, *flags: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LAKEHOUSE_WAREHOUSE": "/nowhere", "LAKEHOUSE_LANDING": "/nowhere/landing"}
    return subprocess.run(
        [sys.executable, *flags, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )


def test_the_code_location_loads() -> None:
    dg.Definitions.validate_loadable(defs)


def test_loading_prints_no_warning_and_imports_nothing_heavy() -> None:
    loaded = in_a_fresh_process(_LOAD, "-W", "default")
    assert loaded.stderr == ""
    assert json.loads(loaded.stdout) == {"heavy": []}


def test_the_library_imports_neither_dagster_nor_spark() -> None:
    code = "import sys, table_format.table.table; print(sorted({'dagster', 'pyspark'} & set(sys.modules)))"
    assert in_a_fresh_process(code).stdout.strip() == "[]"


def test_the_workspace_loads_the_module_definitions_from_its_own_directory() -> None:
    (entry,) = yaml.safe_load((ROOT / "workspace.yaml").read_text())["load_from"]
    assert entry["python_module"]["module_name"] == "definitions"
    assert entry["python_module"]["working_directory"] == "."


def test_one_maintenance_run_for_each_table_at_a_time() -> None:
    settings = yaml.safe_load((ROOT / ".dagster_home" / "dagster.yaml").read_text())
    (limit,) = settings["concurrency"]["runs"]["tag_concurrency_limits"]
    assert limit == {"key": "lakehouse/maintains", "value": {"applyLimitPerUniqueValue": True}, "limit": 1}


def test_dagster_accepts_the_instance_settings(tmp_path: Path) -> None:
    (tmp_path / "dagster.yaml").write_text((ROOT / ".dagster_home" / "dagster.yaml").read_text())
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        assert instance.run_retries_max_retries == 1


def test_tables_are_backfilled_in_one_run_or_in_weeks_and_have_one_writer() -> None:
    graph = defs.resolve_asset_graph()
    for table in PIPELINE_TABLES:
        policy = dg.BackfillPolicy.multi_run(7) if table == "mart.daily_revenue" else dg.BackfillPolicy.single_run()
        assert graph.get(dg.AssetKey(table.split("."))).backfill_policy == policy
    for table in MANAGED_TABLES:
        node = graph.get(dg.AssetKey(table.split(".")))
        assert node.pools == {f"write_{table.replace('.', '_')}"}


def test_the_page_of_every_table_links_to_its_maintenance_jobs() -> None:
    (origin,) = yaml.safe_load((ROOT / "workspace.yaml").read_text())["load_from"]
    location = origin["python_module"]["location_name"]
    graph = defs.resolve_asset_graph()
    jobs = {job.name for job in defs.resolve_all_job_defs()}
    for table in MANAGED_TABLES:
        links = graph.get(dg.AssetKey(table.split("."))).metadata["maintenance"].value
        found = re.findall(rf"/locations/__repository__@{location}/jobs/(\w+)/playground/setup\?config=(\S+?)\)", links)
        assert {"compact_table", "maintain_table", "rollback_table"} <= {job for job, _ in found} <= jobs
        assert all(f"table: {table}}}" in unquote(config) for _, config in found)


def test_every_table_is_checked() -> None:
    checked = {(key.asset_key.to_user_string(), key.name) for key in defs.resolve_asset_graph().asset_check_keys}
    for table in PIPELINE_TABLES:
        names = ("table_health", "files_present", "schema_as_declared", "row_count_bounds", "no_dangling_files")
        assert {(table.replace(".", "/"), name) for name in names} <= checked


def test_the_groups_run_from_landing_to_mart() -> None:
    graph = defs.resolve_asset_graph()
    order = [key.to_user_string() for level in graph.toposorted_asset_keys_by_level for key in level]
    places = [order.index(key) for key in ("landing/orders_feed", "ods/orders_cdc", "dwd/orders", "mart/daily_revenue")]
    assert places == sorted(places)


def test_spark_runs_the_workers_with_this_python(monkeypatch: pytest.MonkeyPatch) -> None:
    from dagster_paimon.resources.spark import prepare_environment

    environment = {"PATH": os.environ["PATH"], "JAVA_HOME": os.environ.get("JAVA_HOME", "")}
    prepare_environment(environment)
    assert environment["PYSPARK_PYTHON"] == environment["PYSPARK_DRIVER_PYTHON"] == sys.executable


def test_secrets_are_read_from_the_environment_and_not_shown_in_settings() -> None:
    spark = SparkResource(secret_conf={"spark.hadoop.fs.s3a.secret.key": "SHOP_SECRET"})
    assert spark.settings({"SHOP_SECRET": "hush"})["spark.hadoop.fs.s3a.secret.key"] == "hush"
    assert "hush" not in repr(spark) + str(spark.model_dump())
    with pytest.raises(KeyError, match="SHOP_SECRET, which is not set"):
        spark.settings({})


def test_the_assets_that_write_one_table_share_a_pool() -> None:
    pools: dict[str, set[str | None]] = {}
    for asset in defs.resolve_asset_graph().assets_defs:
        for spec in asset.specs:
            table = spec.metadata.get("paimon/table")
            if table is not None and asset.is_executable:
                pools.setdefault(str(table), set()).add(asset.op.pool)
    assert pools["dwd.orders_enriched"] == {"write_dwd_orders_enriched"}
    assert all(len(found) == 1 for found in pools.values())
    # Otherwise a pool is free between two steps, or never full.
    instance = yaml.safe_load((ROOT / ".dagster_home" / "dagster.yaml").read_text())
    assert instance["concurrency"]["pools"] == {"granularity": "run", "default_limit": 1}
