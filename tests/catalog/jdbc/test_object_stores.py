"""A catalog in a database whose warehouse is in S3: locks are on, and nothing is renamed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from table_format import Schema, load_catalog
from table_format.errors import TableNotFound, UnsupportedFeature
from tests.support.jdbc_catalogs import locks, sql, sqlite_options
from tests.support.s3_server import Fault, Request, S3Server, running_s3
from tests.support.tables import KEYED, keyed, rows_of


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with running_s3() as running:
        running.make_bucket("names")
        yield running


def test_a_table_in_s3_is_created_and_written_under_its_lock_and_dropped_but_not_renamed(
    tmp_path: Path, server: S3Server
) -> None:
    catalog = load_catalog(sqlite_options(tmp_path) | server.options | {"warehouse": "s3://names/w"})
    catalog.create_database("db")
    held: list[object] = []

    def look(request: Request) -> Fault | None:
        if request.method == "PUT" and "/snapshot/snapshot-" in request.path:
            held.append(locks(tmp_path))
        return None

    table = catalog.create_table("db.t", Schema.from_arrow(KEYED))
    with server.failing(look):
        table.append(keyed([(1, "a", 1)]))
    assert (held, locks(tmp_path)) == ([["jdbc.db.t"]], [])
    query = "SELECT property_value FROM paimon_database_properties WHERE property_key = 'location'"
    assert sql(tmp_path, query) == [("s3://names/w/db.db",)]
    with pytest.raises(UnsupportedFeature, match="cannot rename table"):
        catalog.rename_table("db.t", "db.u")
    assert catalog.list_tables("db") == ("t",)
    assert rows_of(catalog.load_table("db.t")) == [(1, "a", 1)]
    catalog.drop_table("db.t")
    with pytest.raises(TableNotFound):
        catalog.load_table("db.t")
    assert catalog.create_table("db.t", Schema.from_arrow(KEYED)).latest_snapshot() is None
    catalog.drop_database("db", cascade=True)
    assert catalog.list_databases() == ()
