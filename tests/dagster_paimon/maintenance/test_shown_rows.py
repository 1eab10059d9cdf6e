"""Rows that readers see only after a compaction: the run that shows them materializes the asset again."""
# No postponed annotations here: Dagster inspects the type of `context`.

from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from dagster_paimon import maintenance_jobs
from tests.support.dagster_project import Project
from tests.support.dagster_runs import run_in_code_location

pytestmark = pytest.mark.dagster

TABLE = "shop.items"
ITEMS = dg.AssetKey(["shop", "items"])
DAYS = dg.StaticPartitionsDefinition(["mon", "tue", "wed"])
HIDDEN = {"deletion-vectors.enabled": "true", "write-only": "true", "bucket": "1"}


def an_asset(options: dict[str, str], *, partitioned: bool = True) -> dg.AssetsDefinition:
    metadata = {"paimon/primary_key": ["id", "day"], "paimon/options": options}
    if partitioned:
        metadata |= {"partition_expr": "day"}
    else:
        metadata |= {"paimon/write_mode": "upsert"}

    @dg.asset(key=ITEMS, io_manager_key="paimon_io", metadata=metadata, partitions_def=DAYS if partitioned else None)
    def items(context: dg.AssetExecutionContext) -> pa.Table:
        day = context.partition_key if partitioned else "mon"
        return pa.table({"id": [1], "day": [day]})

    return items


def maintained(
    project: Project, *assets: dg.AssetsDefinition, job: str, **config: Any
) -> list[dg.AssetMaterialization]:
    """Return the materializations of a maintenance run in the code location of some assets."""
    defs = dg.Definitions(
        assets=assets, jobs=maintenance_jobs(), resources=project.resources, executor=dg.in_process_executor
    )
    op = {"compact_table": "compact", "maintain_table": "maintain"}[job]
    run_config = {"ops": {op: {"config": {"table": TABLE, "on_spark": False, **config}}}}
    result = run_in_code_location(defs, job, instance=project.instance, run_config=run_config)
    events = [event for event in result.all_events if event.event_type_value == "ASSET_MATERIALIZATION"]
    return [event.materialization for event in events]


@pytest.mark.parametrize("job", ["compact_table", "maintain_table"])
@pytest.mark.parametrize("options", [HIDDEN, {"bucket": "-2"}], ids=["deletion vectors", "postponed buckets"])
def test_a_compaction_materializes_the_partitions_whose_rows_it_shows(
    project: Project, options: dict[str, str], job: str
) -> None:
    items = an_asset(options)
    project.run(items, days="mon")
    assert project.rows(TABLE) == []
    (shown,) = maintained(project, items, job=job)
    assert len(project.rows(TABLE)) == 1
    assert (shown.asset_key, shown.partition, shown.metadata["paimon/snapshot_id"].value) == (ITEMS, "mon", 2)
    project.run(items, days="tue")
    project.run(items, days="wed")
    assert {event.partition for event in maintained(project, items, job=job)} == {"tue", "wed"}
    assert maintained(project, items, job=job) == []


def test_a_compaction_materializes_nothing_if_readers_saw_the_rows_before(project: Project) -> None:
    items = an_asset({"bucket": "1", "write-only": "true"})
    for _ in range(2):
        project.run(items, days="mon")
    assert maintained(project, items, job="compact_table", full=True) == []


def test_a_compaction_leaves_the_events_of_an_external_asset_to_the_sensor(project: Project) -> None:
    project.run(an_asset(HIDDEN), days="mon")
    spec: Any = dg.AssetSpec(ITEMS, partitions_def=DAYS, metadata={"partition_expr": "day"})
    assert maintained(project, spec, job="compact_table") == []


def test_an_asset_downstream_runs_after_the_compaction_that_shows_the_rows(project: Project) -> None:
    items = an_asset(HIDDEN, partitioned=False)

    @dg.asset(deps=[items], automation_condition=dg.AutomationCondition.any_deps_updated())
    def totals() -> None: ...

    def requested(cursor: Any) -> Any:
        defs = dg.Definitions(assets=[items, totals], resources=project.resources)
        chosen = dg.AssetSelection.assets("totals")
        return dg.evaluate_automation_conditions(defs, project.instance, asset_selection=chosen, cursor=cursor)

    project.run(items)
    before = requested(None)
    assert requested(before.cursor).total_requested == 0
    maintained(project, items, job="compact_table")
    assert requested(before.cursor).total_requested == 1
