"""Works with the code location as its owner would, and prints as JSON what came of it."""

from __future__ import annotations

import importlib.util
import json
import logging
import sys
import warnings
from datetime import UTC, datetime
from typing import Any

import dagster as dg
from dagster._core.definitions.job_base import RepoBackedJob
from dagster._core.execution.api import execute_run

warnings.simplefilter("ignore")
logging.disable(logging.INFO)

from apiary.definitions import defs as declared  # noqa: E402

defs = declared()
repository = defs.get_repository_def()
instance = dg.DagsterInstance.ephemeral()
catalog = defs.resources["lakehouse"]
lakehouse = {"lakehouse": catalog}


def materialize(*keys: str, partition: str | None = None) -> dg.ExecuteInProcessResult:
    selected = [dg.AssetKey.from_user_string(key) for key in keys]
    job = defs.resolve_implicit_global_asset_job_def()
    return job.execute_in_process(asset_selection=selected, partition_key=partition, instance=instance)


def tick(sensor: str) -> dg.SensorExecutionData:
    context = dg.build_sensor_context(instance=instance, definitions=defs, resources=lakehouse)
    return defs.resolve_sensor_def(sensor).evaluate_tick(context)


def loading() -> dict[str, Any]:
    import dagster_paimon
    import table_format

    shop = ("assets", "jobs", "sensors", "resources", "tests")
    return {
        "heavy": [name for name in ("pyspark", "py4j", "numba") if name in sys.modules],
        "of the repository": [name for name in shop if importlib.util.find_spec(name)]
        + sorted({"definitions"} & set(sys.modules)),
        "packages": [dagster_paimon.__file__, table_format.__file__],
        "path": sys.path,
    }


def assets() -> dict[str, Any]:
    for week in ("w2", "w1", "w2"):
        materialize("eu/apiary/weights", partition=week)
    for _ in range(2):
        result = materialize("heaviest", "eu/apiary/total")
    rows = {
        name: catalog.table(name).scan().to_arrow().to_pylist()
        for name in ("apiary.weights", "apiary.heaviest_weeks", "apiary.total")
    }
    checks = {check.check_name: check.passed for check in result.get_asset_check_evaluations()}
    return {"rows": rows, "checks": checks, "warehouse": catalog.catalog_options({})["warehouse"]}


def maintenance() -> dict[str, Any]:
    compact = {"config": {"table": "apiary.heaviest_weeks", "full": True, "on_spark": False}}
    in_code_location = RepoBackedJob("compact_table", repository)
    config = {"ops": {"compact": compact}, "execution": {"config": {"in_process": {}}}}
    run = instance.create_run_for_job(in_code_location.get_definition(), run_config=config)
    execute_run(in_code_location, run, instance, raise_on_error=True)
    observed = [
        str(record.asset_key and record.asset_key.to_user_string())
        for record in instance.get_records_for_run(run.run_id, of_type=dg.DagsterEventType.ASSET_OBSERVATION).records
    ]
    context = dg.build_schedule_context(
        instance=instance,
        repository_def=repository,
        resources=lakehouse,
        scheduled_execution_time=datetime(2026, 1, 1, 3, tzinfo=UTC),
    )
    nightly = defs.resolve_schedule_def("nightly_maintenance").evaluate_tick(context)
    table = catalog.table("apiary.heaviest_weeks")
    return {
        "observed": observed,
        "last commit": table.latest_snapshot().commit_kind.value,
        "requested": [request.run_config for request in nightly.run_requests],
    }


def sensors() -> dict[str, Any]:
    import pyarrow as pa

    from table_format import Schema

    others = catalog.catalog()
    others.create_database("weather", ignore_if_exists=True)
    rain = pa.table({"day": [1], "rain": [0.5]})
    others.create_table("weather.days", Schema.from_arrow(rain.schema))
    others.load_table("weather.days").append(rain)
    reported = tick("external_snapshots")
    return {
        "reported": [event.asset_key.to_user_string() for event in reported.asset_events],
        "pressure": len(tick("compaction_pressure").run_requests or []),
    }


print(json.dumps({part.__name__: part() for part in (loading, assets, maintenance, sensors)}))
