"""``ops``: the health of all tables over time, stored in a table that can be queried."""
# No postponed annotations here: Dagster inspects the type of `context`.

from datetime import UTC, datetime

import dagster as dg
import pyarrow as pa

from assets.links import maintenance_links
from dagster_paimon import LakehouseCatalog
from dagster_paimon.tables.measure import measure
from dagster_paimon.tables.selection import TableSelection
from table_format.counted import counted
from table_format.engine.support import schema


@dg.asset(
    key_prefix="ops",
    group_name="ops",
    io_manager_key="paimon_io",
    kinds={"paimon", "arrow"},
    code_version="1",
    owners=["team:platform"],
    metadata={
        "paimon/write_mode": "append",
        "paimon/comment": "State of each table, hour by hour",
        **maintenance_links("ops.table_health"),
    },
    automation_condition=dg.AutomationCondition.on_cron("0 * * * *"),
    pool="write_ops_table_health",
)
def table_health(context: dg.AssetExecutionContext, lakehouse: LakehouseCatalog) -> pa.Table:
    """Files, bytes, sorted runs and snapshots of every table of the catalog, measured from its metadata."""
    measured_at = datetime.now(UTC).replace(tzinfo=None)
    names = TableSelection.of("*").existing(lakehouse.catalog())
    states = {name: measure(lakehouse.table(name).facts) for name in names}
    context.log.info("%s measured", counted(len(states), "table"))
    numbers = next((list(state.numbers) for state in states.values()), [])
    columns = schema(
        [
            ("measured_at", pa.timestamp("us")),
            ("table_name", pa.string()),
            *((name, pa.int64()) for name in ("snapshot_id", *numbers)),
        ]
    )
    return pa.Table.from_pylist(
        [
            {"measured_at": measured_at, "table_name": name, "snapshot_id": state.snapshot_id, **state.numbers}
            for name, state in states.items()
        ],
        schema=columns,
    )
