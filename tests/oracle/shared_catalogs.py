"""What holds for every catalog whose list of tables the real Paimon and this library share.

A test module imports the laws, and has a fixture ``lake``.
"""

from __future__ import annotations

import pytest

from table_format import SetOption
from table_format.catalog.hive.catalog import HiveCatalog
from table_format.errors import AlreadyExistsError
from tests.oracle.conftest import SharedLake
from tests.oracle.peer import PeerError
from tests.oracle.shared_tables import make, opened, read, write

BOTH = pytest.mark.parametrize("by_us", [True, False], ids=["ours", "theirs"])


def names(lake: SharedLake) -> dict[str, list[str]]:
    """The tables of each database, which are the same for both."""
    found = {database: list(lake.ours.list_tables(database)) for database in lake.ours.list_databases()}
    theirs = lake.theirs.catalog(lake.uri, "databases")
    assert found == {database: lake.theirs.catalog(lake.uri, "tables", database) for database in theirs}
    if isinstance(lake.ours, HiveCatalog):
        assert found.pop("default") == []  # Hive always has this database
    return found


@BOTH
def test_what_one_creates_the_other_lists_reads_writes_renames_and_drops(lake: SharedLake, by_us: bool) -> None:
    make(lake, {"bucket": "1"}, by_us=by_us)
    assert names(lake) == {"db": ["t"]}
    write(lake, [(1, "a", 1)], by_us=by_us)
    write(lake, [(2, "b", 2)], by_us=not by_us)
    assert read(lake) == [(1, "a", 1), (2, "b", 2)]
    if by_us:
        lake.theirs.alter_options(lake.uri, "db.t", {"write-only": "true"})
        lake.theirs.catalog(lake.uri, "rename_table", "db.t", "db.u")
    else:
        lake.ours.alter_table("db.t", SetOption("write-only", "true"))
        lake.ours.rename_table("db.t", "db.u")
    assert names(lake) == {"db": ["u"]}
    assert opened(lake, "db.u").schema.options["write-only"] == "true"
    write(lake, [(3, "c", 3)], by_us=by_us, name="db.u")
    assert len(read(lake, "db.u")) == 3
    if by_us:
        lake.theirs.catalog(lake.uri, "drop_table", "db.u")
    else:
        lake.ours.drop_table("db.u")
    assert names(lake) == {"db": []}
    make(lake, {"bucket": "1"}, by_us=by_us)
    assert read(lake) == []
    if by_us:
        lake.theirs.catalog(lake.uri, "drop_database", "db")
    else:
        lake.ours.drop_database("db", cascade=True)
    assert names(lake) == {}


def test_a_table_that_one_has_created_is_there_for_the_other_that_creates_it(lake: SharedLake) -> None:
    make(lake, {"bucket": "1"}, by_us=False)
    with pytest.raises(AlreadyExistsError):
        make(lake, {"bucket": "1"}, by_us=True)
    lake.ours.drop_table("db.t")
    make(lake, {"bucket": "1"}, by_us=True)
    with pytest.raises(PeerError, match=r"TableAlreadyExistException"):
        make(lake, {"bucket": "1"}, by_us=False)
