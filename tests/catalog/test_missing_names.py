"""A name that does not exist is one line that says what there is instead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from table_format import Catalog, Schema, load_catalog
from table_format.errors import ColumnNotFound, DatabaseNotFound, NotFoundError, TableNotFound

COLUMNS = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("amount", pa.int64())])


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
