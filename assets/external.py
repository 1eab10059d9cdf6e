"""``ext``: tables that others write. A sensor reports each of their snapshots; nothing here materializes them."""

from __future__ import annotations

from typing import Final

import dagster as dg

web_clicks: Final = dg.AssetSpec(
    ["ext", "web_clicks"],
    group_name="external",
    kinds={"paimon"},
    description=(
        "Clicks on the shop's pages, written by somebody else (`python -m jobs.demo write-clicks` plays that part). "
        "The sensor `external_snapshots` reports every snapshot."
    ),
    metadata={"dagster/table_name": "ext.web_clicks", "dagster/storage_kind": "paimon"},
)

EXTERNAL_TABLES: Final = ("ext.web_clicks",)
