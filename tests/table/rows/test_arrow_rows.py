"""Rows in the forms of other libraries."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from table_format import Schema, load_catalog
from table_format.errors import InvalidData


def test_a_date_that_pandas_cannot_hold_is_named_with_a_way_out(tmp_path: Path) -> None:
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    days = pa.table({"d": pa.array([-719_600], pa.int32()).view(pa.date32())})
    table = catalog.create_table("db.t", Schema.from_arrow(days.schema))
    table.append(days)
    with pytest.raises(InvalidData, match=r"its dates have the years 1 to 9999.*to_arrow\(\)"):
        table.scan().to_pandas()
    assert table.scan().to_arrow().equals(days)
