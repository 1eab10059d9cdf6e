"""Assets on Spark Connect, in the process of ``tests.spark.connect_session``."""
# No postponed annotations here: Dagster inspects the types of inputs.

from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa

from dagster_paimon import LakehouseCatalog, PaimonIOManager, SparkFrame, SparkMode, SparkResource
from tests.support.dagster_project import Project
from tests.support.spark_session import SETTINGS

DAYS = dg.DailyPartitionsDefinition(start_date="2026-03-01", end_date="2026-03-05")
FIRST, SECOND = "2026-03-01", "2026-03-02"
SPARK = SparkResource(mode=SparkMode.connect, remote="local[2]", progress=False, conf=SETTINGS)


def rows(**columns: Any) -> SparkFrame:
    frame: SparkFrame = SPARK.session().createDataFrame(pa.table(columns))
    return frame


def an_asset(name: str, columns: dict[str, Any], **metadata: Any) -> dg.AssetsDefinition:
    @dg.asset(key=["lab", name], partitions_def=DAYS, io_manager_key="paimon_io", metadata=metadata)
    def asset(context: dg.AssetExecutionContext) -> SparkFrame:
        return rows(**columns)

    return asset


@dg.asset(partitions_def=DAYS, ins={"found": dg.AssetIn(key=["lab", "readings"], metadata={"columns": ["n"]})})
def reader(found: SparkFrame) -> None:
    print("read", type(found).__module__, sorted(row.asDict().items() for row in found.collect()))


def counts(result: Any) -> list[tuple[str, Any, Any]]:
    events = [event.step_materialization_data.materialization for event in result.get_asset_materialization_events()]
    keys = ("dagster/partition_row_count", "paimon/partition_deletes")
    return [
        (event.partition, *(event.metadata[key].value for key in keys if key in event.metadata)) for event in events
    ]


def use_assets(warehouse: Path) -> None:
    """Materialize assets and print what is found."""
    lakehouse = LakehouseCatalog(warehouse=str(warehouse))
    resources = {"lakehouse": lakehouse, "paimon_io": PaimonIOManager(lakehouse=lakehouse, spark=SPARK)}
    with dg.DagsterInstance.ephemeral() as instance:
        project = Project(resources, instance)
        readings = an_asset("readings", {"n": [1, 2, 3], "dt": [FIRST, FIRST, SECOND]}, partition_expr="dt")
        print("replaced", counts(project.run([readings], days=(FIRST, SECOND))))
        project.run([readings, reader], selection=[reader], days=SECOND)
        again = an_asset("readings", {"n": [9], "dt": ["2026-03-03"]}, partition_expr="dt")
        try:
            project.run([again], days=FIRST)
        except dg.Failure as refused:
            print("refused", refused.description)
        keyed = {"paimon/write_mode": "upsert", "paimon/primary_key": "id", "paimon/options": {"bucket": "2"}}
        upsert = an_asset(
            "states",
            {"id": [1, 2, 3], "came": [FIRST, SECOND, SECOND], "_row_kind": ["+I", "+U", "-D"]},
            **keyed,
            **{"paimon/partition_scope": "input", "paimon/row_partition": "came"},
        )
        print("upserted", counts(project.run([upsert], days=(FIRST, SECOND))))
        print("kept", project.rows("lab.states"))
