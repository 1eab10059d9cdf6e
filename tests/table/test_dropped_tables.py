"""No method of a handle says that a dropped table is empty."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from table_format import Schema, load_catalog
from table_format.errors import TableNotFound

READS = ["snapshots", "latest_snapshot", "tags", "branches", "consumers", "due_upkeep", "verify", "expire_snapshots"]


@pytest.mark.parametrize("method", READS)
def test_a_method_of_a_dropped_table_raises_table_not_found(tmp_path: Path, method: str) -> None:
    catalog = load_catalog({"warehouse": tmp_path})
    catalog.create_database("shop")
    table = catalog.create_table("shop.t", Schema.from_arrow(pa.schema([("a", pa.int64())])))
    table.append(pa.table({"a": [1]}))
    getattr(table, method)()
    catalog.drop_table("shop.t")
    with pytest.raises(TableNotFound, match="was dropped or renamed"):
        getattr(table, method)()


def test_public_objects_have_a_short_repr(tmp_path: Path) -> None:
    catalog = load_catalog({"warehouse": tmp_path})
    catalog.create_database("shop")
    columns = pa.schema([(f"column_{i}", pa.int64()) for i in range(200)])
    table = catalog.create_table("shop.t", Schema.from_arrow(columns))
    snapshots = table.append(pa.table({name: [1] for name in columns.names}))
    scan = table.scan(filter="column_1 = 1")
    shown = [catalog, table, table.schema, *snapshots, scan, scan.plan(), *scan.plan().splits, table.stream()]
    shown.append(catalog.load_table("shop.t$snapshots"))
    for value in shown:
        assert len(repr(value)) < 1000, repr(value)
        assert " object at 0x" not in repr(value)
    assert "170 more columns" in repr(table)


def test_arguments_of_wrong_types_are_named_with_what_to_write(tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"options: expected a mapping such as .*found str"):
        load_catalog(str(tmp_path))  # type: ignore[arg-type]
    catalog = load_catalog({"warehouse": tmp_path})
    catalog.create_database("shop")
    columns = pa.schema([("a", pa.int64())])
    with pytest.raises(Exception, match=r"expected a Schema \(Schema.from_arrow converts .*found pyarrow.Schema"):
        catalog.create_table("shop.t", columns)  # type: ignore[arg-type]
    with pytest.raises(Exception, match="option 'bucket': expected a text, found int 1; write '1'"):
        Schema.from_arrow(columns, options={"bucket": 1})  # type: ignore[dict-item]
