"""``ext``: tables of external writers, and a mart that is computed from them without Spark."""
# No postponed annotations here: Dagster inspects the types of inputs.

from typing import Final

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from assets.links import maintenance_links

web_clicks: Final = dg.AssetSpec(
    ["ext", "web_clicks"],
    group_name="external",
    kinds={"paimon"},
    description=(
        "Clicks on the pages of the shop, from an external writer (`python -m jobs.demo write-clicks` simulates it). "
        ""
        "The sensor `external_snapshots` reports every snapshot."
    ),
    metadata={"dagster/table_name": "ext.web_clicks", "dagster/storage_kind": "paimon"},
)

EXTERNAL_TABLES: Final = ("ext.web_clicks",)


@dg.asset(
    key_prefix="mart",
    group_name="mart",
    io_manager_key="paimon_io",
    kinds={"paimon", "arrow"},
    code_version="1",
    ins={
        "clicks": dg.AssetIn(
            key=["ext", "web_clicks"], input_manager_key="paimon_io", metadata={"columns": ["page", "clicked_at"]}
        )
    },
    metadata={
        "paimon/write_mode": "overwrite_table",
        "paimon/comment": "Clicks by hour and page",
        **maintenance_links("mart.clicks_by_hour"),
    },
    automation_condition=dg.AutomationCondition.eager(),
    pool="write_mart_clicks_by_hour",
)
def clicks_by_hour(clicks: pa.Table) -> pa.Table:
    """Clicks by hour and page, recomputed for every snapshot that the sensor reports. No JVM is started."""
    hours = clicks.set_column(1, "hour", pc.floor_temporal(clicks["clicked_at"], unit="hour"))
    counted = hours.group_by(["hour", "page"]).aggregate([([], "count_all")])
    return counted.rename_columns(["hour", "page", "clicks"]).sort_by([("hour", "ascending"), ("page", "ascending")])
