"""A name that does not exist is one line that says what there is instead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_format import Catalog, Delete, DropColumn, RenameColumn, Schema, SetOption, Table, col, load_catalog
from table_format.errors import (
    ColumnNotFound,
    DatabaseNotFound,
    InvalidOption,
    InvalidSchema,
    NotFoundError,
    TableNotFound,
)

COLUMNS = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("amount", pa.int64())])
ROWS = pa.table({"id": [1], "amount": [5]}, schema=COLUMNS)


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """The tables ``shop.orders``, ``shop.items`` and ``crm.orders``."""
    catalog = load_catalog({"warehouse": str(tmp_path)})
    for name in ("shop.orders", "shop.items", "crm.orders"):
        catalog.create_database(name.partition(".")[0], ignore_if_exists=True)
        catalog.create_table(name, Schema.from_arrow(COLUMNS, primary_keys=["id"], options={"bucket": "1"}))
    return catalog


def refused(kind: type[NotFoundError], call: Callable[[], object]) -> str:
    """The message of the error that a call raises, which is one line."""
    with pytest.raises(kind) as raised:
        call()
    (line,) = str(raised.value).splitlines()
    return line


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("shop.ordrs", "; did you mean shop.orders?"),
        ("shpo.orders", "; did you mean shop.orders?"),
        ("shop.zebra", " has no schema"),
        ("zebra.zebra", " has no schema"),
    ],
)
def test_a_misspelt_table_shows_the_nearest_names(catalog: Catalog, name: str, end: str) -> None:
    line = refused(TableNotFound, lambda: catalog.load_table(name))
    assert line.startswith(f"table '{name}' does not exist: ")
    assert line.endswith(end)


def test_the_tables_of_a_database_that_exists_are_preferred(catalog: Catalog) -> None:
    assert refused(TableNotFound, lambda: catalog.drop_table("crm.order")).endswith("; did you mean crm.orders?")


def test_a_misspelt_database_shows_the_nearest_names(catalog: Catalog) -> None:
    line = refused(DatabaseNotFound, lambda: catalog.list_tables("shpo"))
    assert line.endswith("; did you mean shop?")
    line = refused(DatabaseNotFound, lambda: catalog.create_table("zebra.t", Schema.from_arrow(COLUMNS)))
    assert line.endswith("; create it first")


def test_a_warehouse_that_does_not_exist_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "nowhere"
    catalog = load_catalog({"warehouse": str(missing)})
    said = f"does not exist: there is no warehouse at {missing}"
    assert refused(TableNotFound, lambda: catalog.load_table("shop.orders")) == f"table 'shop.orders' {said}"
    assert refused(DatabaseNotFound, lambda: catalog.list_tables("shop")) == f"database 'shop' {said}"
    assert not missing.exists()


def test_a_filter_with_an_unknown_column_shows_the_columns(catalog: Catalog) -> None:
    table = catalog.load_table("shop.orders")
    line = refused(ColumnNotFound, lambda: table.scan(filter="amuont > 1").to_arrow())
    assert line == "column 'amuont' of the filter does not exist; the columns are id, amount; did you mean 'amount'?"


def orders(**changes: Any) -> Schema:
    return Schema.from_arrow(COLUMNS, **{"primary_keys": ["id"], **changes})


CALLS: dict[str, Callable[[Catalog, Table], object]] = {
    "a column of a scan": lambda _, table: table.scan(columns=["amuont"]).to_arrow(),
    "a column object": lambda _, table: table.scan(filter=col("amuont") > 1).to_arrow(),
    "an order": lambda _, table: table.scan(order_by="amuont", limit=1).to_arrow(),
    "an aggregate": lambda _, table: table.scan().aggregate({"total": ("sum", "amuont")}),
    "a group": lambda _, table: table.scan().aggregate({"n": ("count", "id")}, group_by="amuont"),
    "a deletion": lambda _, table: table.delete("amuont > 1"),
    "an updated column": lambda _, table: table.update({"amuont": 1}, "id = 1"),
    "the value of an update": lambda _, table: table.update({"amount": "amuont + 1"}, "id = 1"),
    "a column to merge on": lambda _, table: table.merge(ROWS, on="amuont", when_matched=Delete()),
    "a dropped column": lambda catalog, _: catalog.alter_table("shop.orders", [DropColumn("amuont")]),
    "a renamed column": lambda catalog, _: catalog.alter_table("shop.orders", [RenameColumn("amuont", "x")]),
    "an indexed column": lambda catalog, _: catalog.alter_table(
        "shop.orders", [SetOption("file-index.bloom-filter.columns", "amuont")]
    ),
    "a primary key": lambda catalog, _: catalog.create_table("shop.t", orders(primary_keys=["id", "amuont"])),
    "a partition key": lambda catalog, _: catalog.create_table(
        "shop.t", orders(primary_keys=["id"], partition_keys=["amuont"])
    ),
    "a bucket key": lambda catalog, _: catalog.create_table(
        "shop.t", orders(primary_keys=[], options={"bucket": "1", "bucket-key": "amuont"})
    ),
    "a sequence field": lambda catalog, _: catalog.create_table("shop.t", orders(options={"sequence.field": "amuont"})),
    "a field of an aggregation": lambda catalog, _: catalog.create_table(
        "shop.t", orders(options={"merge-engine": "aggregation", "fields.amuont.aggregate-function": "sum"})
    ),
}


@pytest.mark.parametrize("place", CALLS)
def test_a_misspelt_column_shows_the_nearest_name(catalog: Catalog, place: str) -> None:
    table = catalog.load_table("shop.orders")
    table.append(ROWS)
    with pytest.raises((ColumnNotFound, InvalidSchema, InvalidOption)) as raised:
        CALLS[place](catalog, table)
    (line,) = str(raised.value).splitlines()
    assert "column 'amuont'" in line
    assert line.endswith("the columns are id, amount; did you mean 'amount'?")
    assert catalog.load_table("shop.orders").scan().to_arrow() == ROWS
