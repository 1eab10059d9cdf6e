"""File indexes in the demo: declares them on a table with existing files, and measures a query with and without."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dagster_paimon.resources.lakehouse import LakehouseCatalog
from table_format import SetOption, Table
from table_format.counted import counted

TABLE: Final = "ods.orders_cdc"
_INDEXES: Final = {
    "file-index.bloom-filter.columns": "user_id",
    "file-index.bloom-filter.user_id.items": "5000",
    "file-index.bloom-filter.user_id.fpp": "0.01",
    "file-index.bitmap.columns": "user_id,status",
}
_UNUSED: Final = {"file-index.read.enabled": "false"}


@dataclass(frozen=True, slots=True)
class Reading:
    """The amount that a query reads of a table, and the number of rows it finds."""

    files: int
    stored_rows: int
    found: int

    def __str__(self) -> str:
        rows = counted(self.stored_rows, "stored row", thousands=True)
        return f"{counted(self.files, 'file')}, {rows}, to find {self.found:,}"


def declare_indexes(lakehouse: LakehouseCatalog) -> None:
    """Set the options that declare indexes. Existing files do not change."""
    lakehouse.catalog().alter_table(TABLE, [SetOption(key, value) for key, value in _INDEXES.items()])


def one_customers_events(lakehouse: LakehouseCatalog) -> str:
    """Return a filter for the customer with the fewest events. Minimum and maximum cannot skip files for it."""
    events = (
        lakehouse.table(TABLE).scan(columns=["user_id"]).to_arrow().group_by("user_id").aggregate([([], "count_all")])
    )
    rarest = events.sort_by([("count_all", "ascending"), ("user_id", "ascending")])["user_id"][0].as_py()
    return f"user_id = {rarest}"


def readings(lakehouse: LakehouseCatalog, query: str) -> tuple[Reading, Reading]:
    """Return what the query reads without indexes and with them."""
    table = lakehouse.table(TABLE)
    return _reading(table, query, _UNUSED), _reading(table, query, {})


def _reading(table: Table, query: str, options: dict[str, str]) -> Reading:
    scan = table.scan(columns=["user_id"], filter=query, options=options)
    plan = scan.plan()
    rows = sum(
        file.row_count if selected is None else len(selected)
        for split in plan
        for file, selected in zip(split.files, split.selections or (None,) * len(split.files), strict=True)
    )
    return Reading(plan.file_count, rows, scan.to_arrow().num_rows)
