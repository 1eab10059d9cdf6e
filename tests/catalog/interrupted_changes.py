"""Changes of a catalog that fail or die, and what must be left of its table ``db.t`` then."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

from table_format import Catalog, Repairable, Schema, Table
from table_format.errors import NotFoundError
from tests.support.tables import KEYED, rows_of

SCHEMA = Schema.from_arrow(KEYED)
ROWS = [(1, "a", 1), (2, "b", 2)]


class RepairableCatalog(Catalog, Repairable, Protocol):
    """A catalog that can list what a failure has left."""


CHANGES: dict[str, Callable[[Catalog], object]] = {
    "create": lambda catalog: catalog.create_table("db.new", SCHEMA),
    "rename": lambda catalog: catalog.rename_table("db.t", "db.u"),
    "drop": lambda catalog: catalog.drop_table("db.t"),
}
_NAMES: Final = {"create": ("t", "new"), "rename": ("t", "u"), "drop": ("t",)}
"""The names that a change is about."""


def check_what_is_left(catalog: RepairableCatalog, change: str, where: str) -> None:
    """All rows are there under one name, or were dropped, and each name is free once its table is dropped."""
    listed = {name: catalog.table_exists(f"db.{name}") for name in _NAMES[change]}
    found = {name: _repaired(catalog, name) for name in listed}
    with_rows = [name for name, table in found.items() if table is not None and rows_of(table) == ROWS]
    assert len(with_rows) == 1 or (change == "drop" and not listed["t"]), where
    assert all(found[name] is not None for name, is_listed in listed.items() if is_listed), where
    for name in listed:
        with suppress(NotFoundError):
            catalog.drop_table(f"db.{name}")
        assert rows_of(catalog.create_table(f"db.{name}", SCHEMA)) == [], where


def _repaired(catalog: RepairableCatalog, name: str) -> Table | None:
    with suppress(NotFoundError):
        return catalog.repair_table(f"db.{name}")
    return None
