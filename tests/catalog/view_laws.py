"""What holds for the views of every catalog that keeps them, and of one in a relational database.

A test module updates its names with ``VIEW_LAWS``, or imports some of them, and has a fixture ``warehouse``.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest

from table_format import (
    AddDialect,
    DropDialect,
    Identifier,
    RemoveViewOption,
    SetViewComment,
    SetViewOption,
    UpdateDialect,
    View,
)
from table_format.catalog.catalog_with_views import NamedCatalogWithViews
from table_format.errors import (
    AlreadyExistsError,
    DatabaseNotFound,
    InvalidIdentifier,
    InvalidInputError,
    NotFoundError,
    TableNotFound,
    ViewNotFound,
)
from table_format.model.types import ArrayType, DataField, DecimalType, IntType, VarCharType
from tests.support.tables import Warehouse

FIELDS = (
    DataField(0, "k", IntType(nullable=False), "the key"),
    DataField(1, "names", ArrayType(VarCharType())),
    DataField(2, "price", DecimalType(10, 2)),
)


def view(name: str = "db.v", query: str = "SELECT * FROM db.t") -> View:
    return View.of(name, FIELDS, query, comment="it's 'é'", options={"owner": "me"})


def catalog(warehouse: Warehouse) -> NamedCatalogWithViews:
    assert isinstance(warehouse.catalog, NamedCatalogWithViews)
    return warehouse.catalog


def test_a_view_is_loaded_as_it_was_created(warehouse: Warehouse) -> None:
    names = catalog(warehouse)
    for wanted in (view("db.b"), view("db.a", "SELECT\n  'é ☃ \"' AS x -- note"), View.of("db.c", (), "")):
        names.create_view(wanted)
        assert names.load_view(str(wanted.identifier)) == wanted
    assert names.list_views("db") == ("a", "b", "c")
    assert names.list_tables("db") == ()
    assert (names.view_exists("db.a"), names.view_exists("db.x"), names.view_exists("x.a")) == (True, False, False)


def test_a_view_is_changed(warehouse: Warehouse) -> None:
    names = catalog(warehouse)
    names.create_view(view())
    changes = [SetViewComment(None), SetViewOption("a", "b"), RemoveViewOption("owner"), AddDialect("flink", "F")]
    changed = names.alter_view("db.v", [*changes, UpdateDialect("spark", "S")])
    assert (changed.comment, changed.options, changed.dialects) == (None, {"a": "b"}, {"spark": "S", "flink": "F"})
    assert names.load_view("db.v") == changed
    assert names.alter_view("db.v", DropDialect("flink")).dialects == {"spark": "S"}
    with pytest.raises(AlreadyExistsError, match=r"view 'db\.v' already has the dialect 'spark'"):
        names.alter_view("db.v", [SetViewComment("lost"), AddDialect("spark", "T")])
    with pytest.raises(NotFoundError, match=r"no dialect 'flink'; its dialects are spark"):
        names.alter_view("db.v", UpdateDialect("flink", "G"))
    assert names.load_view("db.v").comment is None


def test_a_view_is_renamed_and_dropped(warehouse: Warehouse) -> None:
    names = catalog(warehouse)
    names.create_view(view())
    before = names.load_view("db.v")
    names.create_database("other")
    names.rename_view("db.v", "other.w")
    assert (names.list_views("db"), names.list_views("other")) == ((), ("w",))
    assert names.load_view("other.w") == replace(before, identifier=Identifier("other", "w"))
    names.drop_view("other.w")
    names.drop_view("other.w", ignore_if_not_exists=True)
    for refused in (names.load_view, names.drop_view, lambda name: names.alter_view(name, SetViewComment("x"))):
        with pytest.raises(ViewNotFound, match=r"view 'other\.w' does not exist"):
            refused("other.w")
    with pytest.raises(ViewNotFound):
        names.rename_view("other.w", "db.w")


def test_a_view_is_replaced_only_on_demand(warehouse: Warehouse) -> None:
    names = catalog(warehouse)
    names.create_view(view())
    with pytest.raises(AlreadyExistsError, match=r"view 'db\.v' already exists"):
        names.create_view(view(query="SELECT 2"))
    before = names.load_view("db.v")
    names.create_view(view(query="SELECT 2"), ignore_if_exists=True)
    assert names.load_view("db.v") == before
    names.create_view(view(query="SELECT 2"), replace=True)
    assert names.load_view("db.v").query == "SELECT 2"


def test_a_table_and_a_view_never_have_the_same_name(warehouse: Warehouse) -> None:
    names = catalog(warehouse)
    warehouse.table("t")
    names.create_view(view())
    for replaced in (False, True):
        with pytest.raises(AlreadyExistsError, match=r"view 'db\.t' cannot be created: there is a table"):
            names.create_view(view("db.t"), replace=replaced, ignore_if_exists=not replaced)
    with pytest.raises(AlreadyExistsError, match=r"'db\.v' cannot be renamed to 'db\.t': there is a table"):
        names.rename_view("db.v", "db.t")
    with pytest.raises(AlreadyExistsError, match=r"table 'db\.v' cannot be created: there is a view"):
        warehouse.table("v")
    with pytest.raises(AlreadyExistsError, match=r"'db\.t' cannot be renamed to 'db\.v': there is a view"):
        names.rename_table("db.t", "db.v")
    with pytest.raises(ViewNotFound, match=r"'db\.t' is a table"):
        names.load_view("db.t")
    for refused in (names.load_table, names.drop_table):
        with pytest.raises(TableNotFound, match=r"'db\.v' is a view, not a table"):
            refused("db.v")
    assert (names.list_tables("db"), names.list_views("db")) == (("t",), ("v",))
    names.load_table("db.t").scan().to_arrow()
    names.drop_view("db.v")
    names.rename_table("db.t", "db.v")
    names.create_view(view("db.t"))


def test_of_a_table_and_a_view_that_are_created_at_once_one_exists(warehouse: Warehouse) -> None:
    names = catalog(warehouse)
    for number in range(5):
        both = Barrier(2)

        def create(of_view: bool, name: str = f"n{number}", both: Barrier = both) -> bool:
            both.wait(30)
            try:
                if of_view:
                    names.create_view(view(f"db.{name}"))
                else:
                    warehouse.table(name)
            except AlreadyExistsError:
                return False
            return True

        with ThreadPoolExecutor(2) as threads:
            assert sorted(threads.map(create, (True, False))) == [False, True]
    assert {*names.list_tables("db"), *names.list_views("db")} == {f"n{number}" for number in range(5)}
    assert not {*names.list_tables("db")} & {*names.list_views("db")}


def test_changes_of_a_view_that_are_made_at_once_are_all_kept(warehouse: Warehouse) -> None:
    names = catalog(warehouse)
    names.create_view(View.of("db.v", FIELDS, "S"))
    both = Barrier(2)

    def change(thread: int) -> None:
        both.wait(30)
        for number in range(10):
            names.alter_view("db.v", SetViewOption(f"{thread}.{number}", "set"))

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(change, range(2)))
    assert len(names.load_view("db.v").options) == 20


def test_a_database_is_dropped_with_its_views_only_on_demand(warehouse: Warehouse) -> None:
    names = catalog(warehouse)
    names.create_database("other")
    names.create_view(view("other.v"))
    before = names.load_view("other.v")
    with pytest.raises(InvalidInputError, match=r"database 'other' is not empty: it has the view v; .*cascade"):
        names.drop_database("other")
    assert names.load_view("other.v") == before
    names.drop_database("other", cascade=True)
    assert [name for name in names.list_databases() if name != "default"] == ["db"]  # Hive always has that one
    names.create_database("other")
    assert names.list_views("other") == ()
    with pytest.raises(DatabaseNotFound):
        names.create_view(view("missing.v"))
    with pytest.raises(DatabaseNotFound):
        names.list_views("missing")


@pytest.mark.parametrize("name", ["v", "db.v$files", "db.v$branch_b", "sys.v", "db.a/b"])
def test_a_name_that_no_view_can_have_is_refused(warehouse: Warehouse, name: str) -> None:
    with pytest.raises(InvalidIdentifier):
        view(name)
    with pytest.raises(InvalidIdentifier):
        catalog(warehouse).load_view(name)


VIEW_LAWS = {name: law for name, law in globals().items() if name.startswith("test_")}
