"""Views in a real Hive metastore, and what Hive sees of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from table_format import (
    AddDialect,
    RemoveViewOption,
    SetViewComment,
    SetViewOption,
    UpdateDialect,
    View,
    ViewCatalog,
)
from table_format.catalog.hive.metastore import Metastore
from table_format.catalog.hive.type_text import parse_hive_type
from table_format.errors import (
    InvalidIdentifier,
    NotFoundError,
    UnsupportedFeature,
)
from table_format.model.types import (
    ArrayType,
    BigIntType,
    DataField,
    DecimalType,
    LocalZonedTimestampType,
    TimestampType,
    VarCharType,
)
from tests.catalog.view_laws import (
    catalog,
    test_a_database_is_dropped_with_its_views_only_on_demand,
    test_a_name_that_no_view_can_have_is_refused,
    test_a_table_and_a_view_never_have_the_same_name,
    test_a_view_is_renamed_and_dropped,
    test_a_view_is_replaced_only_on_demand,
    test_of_a_table_and_a_view_that_are_created_at_once_one_exists,
)
from tests.support.hive_metastore import HiveMetastore, hive_catalog, listed
from tests.support.tables import Warehouse

__all__ = [
    "test_a_database_is_dropped_with_its_views_only_on_demand",
    "test_a_name_that_no_view_can_have_is_refused",
    "test_a_table_and_a_view_never_have_the_same_name",
    "test_a_view_is_renamed_and_dropped",
    "test_a_view_is_replaced_only_on_demand",
    "test_of_a_table_and_a_view_that_are_created_at_once_one_exists",
]

FIELDS = (
    DataField(0, "k", BigIntType(), "the key"),
    DataField(1, "names", ArrayType(VarCharType())),
    DataField(2, "price", DecimalType(10, 2)),
)
QUERY = "SELECT k,\n  'é ☃' AS names, price FROM db.t -- note"


def view(name: str = "db.v", query: str = QUERY) -> View:
    return View.of(name, FIELDS, query, comment="it's 'é'", options={"owner": "me"})


def test_a_view_is_a_view_of_hive_and_has_one_text_for_all_engines(
    metastore: HiveMetastore, warehouse: Warehouse, tmp_path: Path
) -> None:
    names = catalog(warehouse)
    assert isinstance(names, ViewCatalog)
    names.create_view(view())
    found = listed(metastore, "db.v")
    assert (found.tableType, found.viewExpandedText, found.sd.location) == ("VIRTUAL_VIEW", QUERY, None)
    assert [(c.name, c.type, c.comment) for c in found.sd.cols][:2] == [
        ("k", "bigint", "the key"),
        ("names", "array<string>", None),
    ]
    loaded = hive_catalog(metastore, tmp_path).load_view("db.v")
    assert loaded == View(view().identifier, FIELDS, QUERY, {}, "it's 'é'", {"owner": "me"})
    assert loaded.text_in("spark") == loaded.text_in("duckdb") == QUERY
    assert (names.list_views("db"), names.list_tables("db")) == (("v",), ())
    assert (names.view_exists("db.v"), names.view_exists("db.x"), names.view_exists("x.v")) == (True, False, False)


def test_the_comment_and_options_of_a_view_are_changed(warehouse: Warehouse) -> None:
    names = catalog(warehouse)
    names.create_view(view())
    names.alter_view("db.v", [SetViewComment(None), SetViewOption("a", "b"), RemoveViewOption("owner")])
    assert (names.load_view("db.v").comment, names.load_view("db.v").options) == (None, {"a": "b"})
    names.create_view(view(query="SELECT 2"), replace=True)
    assert (names.load_view("db.v").query, names.load_view("db.v").options) == ("SELECT 2", {"owner": "me"})


def test_a_second_text_is_refused_and_changes_nothing(warehouse: Warehouse) -> None:
    names = catalog(warehouse)
    names.create_view(view())
    with pytest.raises(UnsupportedFeature, match=r"view 'db\.v' has a text of its own for flink, but a Hive metastore"):
        names.alter_view("db.v", [SetViewComment("lost"), AddDialect("flink", "SELECT 1")])
    with pytest.raises(NotFoundError, match=r"has no dialect 'spark'"):
        names.alter_view("db.v", UpdateDialect("spark", "SELECT 1"))
    two = View(view("db.w").identifier, FIELDS, QUERY, {"spark": QUERY, "flink": "SELECT 1"})
    with pytest.raises(UnsupportedFeature, match="flink"):
        names.create_view(two)
    assert names.list_views("db") == ("v",)
    assert names.load_view("db.v").comment == "it's 'é'"


def test_a_name_in_upper_case_is_refused(warehouse: Warehouse) -> None:
    names = catalog(warehouse)
    with pytest.raises(InvalidIdentifier, match=r"view name 'V' is not legal: the Hive metastore ignores case"):
        names.create_view(view("db.V"))
    names.create_view(view())
    with pytest.raises(InvalidIdentifier, match="'V'"):
        names.rename_view("db.v", "db.V")
    assert names.list_views("db") == ("v",)


def test_a_view_whose_creation_got_no_answer_is_there(
    metastore: HiveMetastore, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    from table_format.errors import MetastoreUnavailable

    change = Metastore.change

    def lost(self: Metastore, method: str, *arguments: object) -> object:
        change(self, method, *arguments)
        if method == "create_table":
            message = "no answer"
            raise MetastoreUnavailable(message)
        return None

    names = catalog(hive_unlocked(metastore, warehouse))
    monkeypatch.setattr(Metastore, "change", lost)
    names.create_view(view())
    monkeypatch.undo()
    assert names.load_view("db.v").query == QUERY


def hive_unlocked(metastore: HiveMetastore, warehouse: Warehouse) -> Warehouse:
    directory = Path(warehouse.catalog.warehouse).parent
    return Warehouse(hive_catalog(metastore, directory, warehouse.io), warehouse.io)


@pytest.mark.parametrize("text", ["uniontype<int,string>", "interval_day_time", "array", "int(", ""])
def test_a_view_of_hive_with_an_unknown_type_is_named(text: str) -> None:
    with pytest.raises(UnsupportedFeature, match=r"column 'db\.v\.x' has the type"):
        parse_hive_type(text, "db.v.x")


def test_times_are_read_with_the_types_of_java() -> None:
    assert parse_hive_type("timestamp", "x") == TimestampType(3)
    assert parse_hive_type("timestamp with local time zone", "x") == LocalZonedTimestampType(6)
