"""The views of a catalog in a relational database, which the real Paimon of 2.0 and this library share."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from table_format import View
from table_format.catalog.jdbc.catalog import JdbcCatalog
from table_format.codecs.type_json import type_json
from table_format.errors import AlreadyExistsError, ViewNotFound
from table_format.model.types import ArrayType, DataField, DecimalType, IntType, LocalZonedTimestampType, VarCharType
from tests.oracle.conftest import SharedLake
from tests.oracle.install import LATEST, STABLE
from tests.oracle.peer import DIRECTORY, PaimonPeer, PeerError
from tests.oracle.shared_catalogs import names
from tests.oracle.shared_tables import make
from tests.oracle.test_jdbc_catalogs import dump, sqlite_lake

FIELDS = (
    DataField(0, "k", IntType(nullable=False), "the key"),
    DataField(1, "tags", ArrayType(VarCharType(length=5))),
    DataField(2, "price", DecimalType(10, 2)),
    DataField(3, "at", LocalZonedTimestampType(precision=3)),
)
VIEW = View.of("db.v", FIELDS, "SELECT 'é' AS k,\n  \"x\" FROM t", comment="it's", options={"owner": "me"})


@pytest.fixture
def lake(tmp_path: Path, peers: Callable[[str], PaimonPeer]) -> SharedLake:
    """A catalog in SQLite whose tables the real Paimon 2.0 has created."""
    if not (DIRECTORY / "classes" / LATEST / "PaimonViews.class").exists():
        pytest.skip(f"!!!!! Paimon {LATEST} is not set up, no view is checked: python -m tests.oracle.install !!!!!")
    lake = sqlite_lake(tmp_path, str(tmp_path / "w"), peers(LATEST))
    lake.ours.create_database("db")
    return lake


def ours(lake: SharedLake) -> JdbcCatalog:
    assert isinstance(lake.ours, JdbcCatalog)
    return lake.ours


def step(lake: SharedLake, action: str, name: str = "db.v", **arguments: Any) -> dict[str, Any]:
    return lake.theirs.views(lake.uri, name, action, **arguments)


def create_there(lake: SharedLake, view: View) -> None:
    fields = [[f.name, type_json(f.type), *([f.description] if f.description else [])] for f in view.fields]
    given = {"query": view.query, "dialects": view.dialects, "comment": view.comment, "options": view.options}
    step(lake, "create", str(view.identifier), fields=fields, **given)


def test_each_reads_the_views_of_the_other_which_are_the_same_bytes(lake: SharedLake, tmp_path: Path) -> None:
    ours(lake).create_view(VIEW)
    stored = dump(tmp_path, "SELECT * FROM paimon_views")
    found = step(lake, "load")
    assert (found["query"], found["comment"], found["dialects"]) == (VIEW.query, VIEW.comment, VIEW.dialects)
    assert found["options"] == VIEW.options
    assert found["fields"] == [[f.id, f.name, str(f.type), f.description] for f in FIELDS]
    step(lake, "drop")
    with pytest.raises(ViewNotFound):
        ours(lake).load_view("db.v")
    create_there(lake, VIEW)
    assert ours(lake).load_view("db.v") == VIEW
    assert dump(tmp_path, "SELECT * FROM paimon_views") == stored


def test_each_changes_renames_and_drops_the_views_of_the_other(lake: SharedLake) -> None:
    create_there(lake, View.of("db.v", FIELDS, "F", dialect="flink"))
    step(lake, "set", options={"a": "b"}, dialects={"spark": "S"}, comment="changed")
    changed = ours(lake).load_view("db.v")
    assert (changed.comment, changed.options) == ("changed", {"a": "b"})
    assert changed.dialects == {"flink": "F", "spark": "S"}
    ours(lake).rename_view("db.v", "db.w")
    assert step(lake, "list", "db.x")["names"] == ["w"]
    step(lake, "rename", "db.w", target="db.y")
    assert ours(lake).list_views("db") == ("y",)
    with pytest.raises(PeerError, match="DatabaseNotEmptyException"):
        step(lake, "drop_database", "db.x", cascade=False)
    step(lake, "drop_database", "db.x", cascade=True)
    assert ours(lake).list_databases() == ()


def test_neither_gives_a_table_the_name_of_a_view_or_a_view_that_of_a_table(lake: SharedLake) -> None:
    make(lake, {"bucket": "1"}, by_us=True, name="db.t")
    make(lake, {"bucket": "1"}, by_us=False, name="db.u")
    ours(lake).create_view(VIEW)
    create_there(lake, View.of("db.w", FIELDS, "S"))
    for table in ("db.t", "db.u"):
        with pytest.raises(AlreadyExistsError):
            ours(lake).create_view(View.of(table, FIELDS, "S"))
        with pytest.raises(PeerError, match="ViewAlreadyExistException"):
            create_there(lake, View.of(table, FIELDS, "S"))
    for view in ("db.v", "db.w"):
        for by_us in (True, False):
            with pytest.raises((AlreadyExistsError, PeerError), match=r"already exists|view of this name"):
                make(lake, {"bucket": "1"}, by_us=by_us, name=view)
    assert names(lake) == {"db": ["t", "u"]}


def test_of_a_table_of_one_and_a_view_of_the_other_that_are_created_at_once_one_exists(lake: SharedLake) -> None:
    def attempt(create: Callable[[], object]) -> bool:
        try:
            create()
        except (AlreadyExistsError, PeerError):
            return False
        return True

    for number in range(8):
        name = f"db.n{number}"
        table_by_us = number % 2 == 0

        def of_view(name: str = name, by_us: bool = not table_by_us) -> None:
            view = View.of(name, FIELDS, "S")
            ours(lake).create_view(view) if by_us else create_there(lake, view)

        def of_table(name: str = name, by_us: bool = table_by_us) -> None:
            make(lake, {"bucket": "1"}, by_us=by_us, name=name)

        with ThreadPoolExecutor(2) as threads:
            assert sorted(threads.map(attempt, (of_view, of_table))) == [False, True]
    assert not {*ours(lake).list_tables("db")} & {*ours(lake).list_views("db")}


def test_views_do_not_disturb_an_older_paimon(tmp_path: Path, peers: Callable[[str], PaimonPeer]) -> None:
    lake = sqlite_lake(tmp_path, str(tmp_path / "w"), peers(STABLE))
    make(lake, {"bucket": "1"}, by_us=False, name="db.t")
    ours(lake).create_view(VIEW)
    make(lake, {"bucket": "1"}, by_us=False, name="db.u")
    assert names(lake) == {"db": ["t", "u"]}
    assert ours(lake).load_view("db.v") == VIEW
