"""Format tables in a Hive metastore."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.orc as arrow_orc
import pyarrow.parquet as arrow_parquet
import pytest

from table_format import Catalog, FormatTable, Schema
from tests.support.hive_metastore import HiveMetastore, empty, hive_catalog, listed, listed_partitions

FORMATS = ("csv", "json", "parquet", "orc")
COLUMNS = pa.schema(
    [
        ("a", pa.int32()),
        ("b", pa.string()),
        ("big", pa.int64()),
        ("price", pa.decimal128(10, 2)),
        ("ratio", pa.float64()),
        ("small", pa.float32()),
        ("ok", pa.bool_()),
        ("day", pa.date32()),
        ("at", pa.timestamp("ms")),
        ("raw", pa.binary()),
        ("dt", pa.string()),
    ]
)


def rows(*dts: str | None) -> pa.Table:
    found = []
    for number, dt in enumerate(dts):
        found.append(
            {
                "a": number,
                "b": ('it\'s, "é" \\', "plain", " ", "c:\\dir")[number % 4],
                "big": 2**53 + 1,
                "price": Decimal("-12.50"),
                "ratio": 0.1,
                "small": 2.5,
                "ok": number % 2 == 0,
                "day": date(2026, 1, 2),
                "at": datetime(1969, 12, 31, 23, 59, 59, 123000),
                "raw": b"\x00\xff",
                "dt": dt,
            }
        )
        found.append({"a": None, "dt": dt})
    return pa.Table.from_pylist(found, COLUMNS)
