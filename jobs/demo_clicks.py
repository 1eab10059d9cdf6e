"""An external writer: appends clicks to ``ext.web_clicks``, so that the snapshot sensor has something to report."""

from __future__ import annotations

import time
from typing import Final

import numpy as np
import pyarrow as pa

from dagster_paimon.resources.lakehouse import LakehouseCatalog
from table_format import Schema
from table_format.engine.support import schema

TABLE: Final = "ext.web_clicks"
_COLUMNS: Final = schema(
    [("click_id", pa.int64()), ("user_id", pa.int64()), ("page", pa.string()), ("clicked_at", pa.timestamp("ms"))]
)
_PAGES: Final = np.array(["/", "/search", "/item", "/basket", "/checkout"])


def write_clicks(lakehouse: LakehouseCatalog, *, count: int) -> int:
    """Append ``count`` clicks in one commit and print the snapshot."""
    catalog = lakehouse.catalog()
    catalog.create_database("ext", ignore_if_exists=True)
    table = catalog.create_table(TABLE, Schema.from_arrow(_COLUMNS), ignore_if_exists=True)
    now_ms = int(time.time() * 1000)
    random = np.random.default_rng(now_ms)
    clicks = pa.table(
        {
            "click_id": now_ms * 1_000_000 + np.arange(count),
            "user_id": random.integers(1, 1_000, count),
            "page": _PAGES[random.integers(0, len(_PAGES), count)],
            "clicked_at": pa.array(now_ms - random.integers(0, 3_600_000, count), pa.timestamp("ms")),
        },
        schema=_COLUMNS,
    )
    for snapshot in table.append(clicks, commit_user="web-shop", identifier=now_ms):
        print(f"{TABLE}: snapshot {snapshot.id} with {count:,} clicks; the sensor reports it within half a minute")
    return 0
