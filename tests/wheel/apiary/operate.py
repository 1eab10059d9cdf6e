"""Works with the code location as its owner would, and prints as JSON what came of it."""

from __future__ import annotations

import importlib.util
import json
import sys
import warnings
from typing import Any

import dagster as dg

warnings.simplefilter("ignore")

from apiary.definitions import defs as declared  # noqa: E402

defs = declared()
repository = defs.get_repository_def()
instance = dg.DagsterInstance.ephemeral()


def materialize(*keys: str, partition: str | None = None) -> dg.ExecuteInProcessResult:
    selected = [dg.AssetKey.from_user_string(key) for key in keys]
    job = defs.resolve_implicit_global_asset_job_def()
    return job.execute_in_process(asset_selection=selected, partition_key=partition, instance=instance)


def tick(sensor: str) -> dg.SensorExecutionData:
    context = dg.build_sensor_context(instance=instance, repository_def=repository, definitions=defs)
    return defs.resolve_sensor_def(sensor).evaluate_tick(context)


def loading() -> dict[str, Any]:
    import dagster_paimon
    import table_format

    shop = ("assets", "jobs", "sensors", "resources", "definitions", "tests")
    return {
        "heavy": [name for name in ("pyspark", "py4j", "numba") if name in sys.modules],
        "of the repository": [name for name in shop if name in sys.modules or importlib.util.find_spec(name)],
        "packages": [dagster_paimon.__file__, table_format.__file__],
        "path": sys.path,
    }


def assets() -> dict[str, Any]:
    for week in ("w2", "w1", "w2"):
        materialize("eu/apiary/weights", partition=week)
    for _ in range(2):
        result = materialize("heaviest", "eu/apiary/total")
    lakehouse = defs.resources["lakehouse"]
    rows = {
        name: lakehouse.table(name).scan().to_arrow().to_pylist()
        for name in ("apiary.weights", "apiary.heaviest_weeks", "apiary.total")
    }
    checks = {check.check_name: check.passed for check in result.get_asset_check_evaluations()}
    return {"rows": rows, "checks": checks, "warehouse": lakehouse.catalog_options({})["warehouse"]}


def maintenance() -> dict[str, Any]:
    compact = {"config": {"table": "apiary.heaviest_weeks", "full": True, "on_spark": False}}
    result = defs.resolve_job_def("compact_table").execute_in_process(
        run_config={"ops": {"compact": compact}}, instance=instance
    )
    observed = [event.asset_key.to_user_string() for event in result.all_events if event.is_asset_observation]
    context = dg.build_schedule_context(
        instance=instance, repository_def=repository, resources={"lakehouse": defs.resources["lakehouse"]}
    )
    nightly = defs.resolve_schedule_def("nightly_maintenance").evaluate_tick(context)
    table = defs.resources["lakehouse"].table("apiary.heaviest_weeks")
    return {
        "observed": observed,
        "last commit": table.latest_snapshot().commit_kind.value,
        "requested": [request.run_config for request in nightly.run_requests],
    }


def sensors() -> dict[str, Any]:
    import pyarrow as pa

    from table_format import Schema

    catalog = defs.resources["lakehouse"].catalog()
    catalog.create_database("weather", ignore_if_exists=True)
    rain = pa.table({"day": [1], "rain": [0.5]})
    catalog.create_table("weather.days", Schema.from_arrow(rain.schema))
    catalog.load_table("weather.days").append(rain)
    reported = tick("external_snapshots")
    return {
        "reported": [event.asset_key.to_user_string() for event in reported.asset_events],
        "pressure": len(tick("compaction_pressure").run_requests or []),
    }


print(json.dumps({part.__name__: part() for part in (loading, assets, maintenance, sensors)}))
