"""Marts that follow the changes of ``dwd.orders``: each run adds and subtracts the changes since the last run.

Both are aggregation tables, so the cost of a run depends on the number of changes, not on the size of the table. No JVM
is started.
"""
# No postponed annotations here: Dagster inspects the type of `context`.

from collections.abc import Mapping, Sequence
from typing import Any, Final

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from assets.daily_table import Make
from assets.links import maintenance_links
from assets.mart import SOLD
from dagster_paimon import Changes, Freshness, LakehouseCatalog, changes_since_last_run, sources_changed

_ORDERS: Final = "dwd.orders"
_REVENUE: Final = pa.decimal128(18, 2)
_HOURLY: Final = Freshness.of("INTERVAL '1' HOUR")


def _mart_of_changes(
    name: str,
    *,
    metadata: Mapping[str, Any],
    automation_condition: dg.AutomationCondition[Any],
    freshness_policy: dg.FreshnessPolicy | None = None,
) -> Make:
    return dg.asset(
        name=name,
        key_prefix="mart",
        group_name="mart",
        io_manager_key="paimon_io",
        deps=[["dwd", "orders"]],
        kinds={"paimon", "arrow"},
        code_version="1",
        owners=["team:shop"],
        metadata={**metadata, **maintenance_links(f"mart.{name}")},
        automation_condition=automation_condition,
        freshness_policy=freshness_policy,
        pool=f"write_mart_{name}",
    )


def _summed(key: Sequence[str], sums: Sequence[str], comment: str) -> dict[str, Any]:
    functions = {f"fields.{name}.aggregate-function": "sum" for name in sums}
    return {
        "paimon/write_mode": "upsert",
        "paimon/primary_key": list(key),
        "paimon/options": {"bucket": "1", "merge-engine": "aggregation", **functions},
        "paimon/comment": comment,
    }


@_mart_of_changes(
    "user_ltv",
    metadata=_summed(["user_id"], ["orders", "revenue"], "Lifetime value of the shop's users"),
    automation_condition=sources_changed(),
)
def user_ltv(context: dg.AssetExecutionContext, lakehouse: LakehouseCatalog) -> pa.Table:
    """The paid and shipped orders of each user and their revenue, maintained from the changelog of orders."""
    changes = changes_since_last_run(
        context, lakehouse, _ORDERS, columns=["user_id", "status", "amount"], consumer="user_ltv"
    )
    return lifetime_values(changes)


def lifetime_values(changes: Changes) -> pa.Table:
    """Return how changes of orders affect ``orders`` and ``revenue`` of each user. Both may be negative."""
    sold = pc.is_in(changes.rows["status"], value_set=pa.array(SOLD))
    rows = changes.rows.filter(sold)
    signs = pc.filter(changes.signs, sold)
    amounts = pc.if_else(pc.greater(signs, pa.scalar(0)), rows["amount"], pc.negate(rows["amount"]))
    values = pa.table({"user_id": rows["user_id"], "orders": signs, "revenue": amounts.cast(_REVENUE)})
    return _sums(values, ["user_id"])


@_mart_of_changes(
    "order_funnel",
    metadata=_summed(["order_date", "status"], ["orders"], "Orders by day of order and status"),
    automation_condition=_HOURLY.automation_condition,
    freshness_policy=_HOURLY.policy,
)
def order_funnel(context: dg.AssetExecutionContext, lakehouse: LakehouseCatalog) -> pa.Table:
    """The number of orders of each day by status, at most an hour old. A status without orders stays as 0."""
    changes = changes_since_last_run(
        context, lakehouse, _ORDERS, columns=["order_date", "status"], consumer="order_funnel"
    )
    rows = changes.rows
    counts = pa.table({"order_date": rows["order_date"], "status": rows["status"], "orders": changes.signs})
    return _sums(counts, ["order_date", "status"])


def _sums(rows: pa.Table, keys: list[str]) -> pa.Table:
    sums = [name for name in rows.column_names if name not in keys]
    found = rows.group_by(keys).aggregate([(name, "sum") for name in sums])
    # Arrow widens the sum of a decimal; the columns keep their names and types.
    columns = {name: found[name if name in keys else f"{name}_sum"] for name in rows.column_names}
    return pa.table({name: column.cast(rows[name].type) for name, column in columns.items()})
