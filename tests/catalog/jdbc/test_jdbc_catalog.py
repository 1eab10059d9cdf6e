"""What the catalog keeps in the database, and what becomes of a failure between the database and the files."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from table_format import Schema, load_catalog
from table_format.catalog.jdbc.catalog import JdbcCatalog
from table_format.catalog.table_names import TableName
from table_format.errors import (
    AlreadyExistsError,
    ConflictError,
    DatabaseNotFound,
    InvalidInputError,
    InvalidOption,
    MetastoreUnavailable,
    PackageMissing,
    TableFormatError,
    TableNotFound,
)
from table_format.io.local import LocalFileIO
from table_format.io.memory import MemoryFileIO
from table_format.model.schema_change import SetOption
from table_format.procedures.operations import InProcess
from table_format.procedures.run import run_procedure
from tests.support.jdbc_catalogs import jdbc_catalog, jdbc_warehouse, locks, sql, sqlite_options
from tests.support.metastore_table import HookedFileIO, failing
from tests.support.tables import KEYED, keyed, rows_of

SCHEMA = Schema.from_arrow(KEYED)
NAMES = ["db.t", "db.u", "other.t"]


def tables_of_files(warehouse: Path) -> None:
    """Create tables in a catalog of directories, which no database lists."""
    files = load_catalog({"warehouse": str(warehouse)})
    for name in NAMES:
        files.create_database(name.partition(".")[0], ignore_if_exists=True)
        files.create_table(name, SCHEMA)
    files.create_database("empty")


def listed(directory: Path) -> list[tuple[str, ...]]:
    return sql(directory, "SELECT catalog_key, database_name, table_name FROM paimon_tables ORDER BY 1, 2, 3")


def properties(directory: Path, table: str) -> dict[str, str]:
    query = "SELECT property_key, property_value FROM paimon_table_properties WHERE table_name = ?"
    return dict(sql(directory, query, table))


def with_a_table(directory: Path) -> tuple[HookedFileIO, JdbcCatalog]:
    """A catalog with the table ``db.t``, on files that can fail."""
    io = HookedFileIO(MemoryFileIO())
    catalog = jdbc_catalog(directory, io)
    catalog.create_database("db")
    catalog.create_table("db.t", SCHEMA)
    return io, catalog


# --- what is in the database ------------------------------------------------------------------------------------------


def test_databases_and_tables_are_rows_under_the_key_of_the_catalog(tmp_path: Path) -> None:
    catalog = jdbc_catalog(tmp_path, MemoryFileIO(), catalog_key="lake")
    catalog.create_database("shop")
    catalog.create_table("shop.t", SCHEMA)
    assert listed(tmp_path) == [("lake", "shop", "t")]
    assert sql(tmp_path, "SELECT * FROM paimon_database_properties ORDER BY property_key") == [
        ("lake", "shop", "exists", "true"),
        ("lake", "shop", "location", f"{tmp_path}/warehouse/shop.db"),
    ]


def test_catalogs_with_different_keys_do_not_see_each_other(tmp_path: Path) -> None:
    one, other = (jdbc_catalog(tmp_path, MemoryFileIO(), catalog_key=key) for key in ("one", "other"))
    one.create_database("db")
    one.create_table("db.t", SCHEMA)
    assert other.list_databases() == ()
    other.create_database("db")
    assert other.list_tables("db") == ()
    one.drop_database("db", cascade=True)
    assert other.list_databases() == ("db",)


def test_options_and_keys_of_a_table_are_copied_and_follow_it(tmp_path: Path) -> None:
    warehouse = jdbc_warehouse(tmp_path)
    warehouse.table("t", primary_keys=["id", "dt"], partition_keys=["dt"], options={"bucket": "3"})
    expected = {"bucket": "3", "primary-key": "id,dt", "partition": "dt", "bucket-key": "id"}
    assert properties(tmp_path, "t") == expected
    warehouse.catalog.alter_table("db.t", SetOption("write-only", "true"))
    assert properties(tmp_path, "t") == {**expected, "write-only": "true"}
    warehouse.catalog.rename_table("db.t", "db.u")
    assert properties(tmp_path, "t") == {}
    assert properties(tmp_path, "u") == {**expected, "write-only": "true"}
    warehouse.catalog.drop_table("db.u")
    assert sql(tmp_path, "SELECT * FROM paimon_table_properties") == []


def test_options_are_not_copied_if_the_catalog_says_so(tmp_path: Path) -> None:
    jdbc_warehouse(tmp_path, sync_all_properties="false").table("t", options={"write-only": "true"})
    assert sql(tmp_path, "SELECT * FROM paimon_table_properties") == []


def test_an_option_too_long_for_the_database_is_left_out_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    warehouse = jdbc_warehouse(tmp_path)
    warehouse.table("t", options={"write-only": "true", "commit.user-prefix": "x" * 1001})
    assert properties(tmp_path, "t") == {"write-only": "true"}
    assert "'commit.user-prefix' of the table is too long" in caplog.text


def test_properties_of_a_database_are_set_and_removed(tmp_path: Path) -> None:
    catalog = jdbc_warehouse(tmp_path).catalog
    assert isinstance(catalog, JdbcCatalog)
    catalog.alter_database("db", {"comment": "of the shop", "owner": "me"})
    catalog.alter_database("db", {"comment": "of the new shop", "owner": None})
    assert catalog.database_properties("db") == {
        "comment": "of the new shop",
        "location": f"{tmp_path}/warehouse/db.db",
    }
    with pytest.raises(InvalidInputError, match="property 'exists' of database 'db' cannot be changed"):
        catalog.alter_database("db", {"exists": None})
    assert catalog.list_databases() == ("db",)


@pytest.mark.parametrize("name", ["a%b", "a_b", "x; DROP TABLE paimon_tables; --", "%(x)s", "é"])
def test_names_are_values_and_never_part_of_a_statement(tmp_path: Path, name: str) -> None:
    key = f"{name}'\"?:x"
    catalog = jdbc_catalog(tmp_path, MemoryFileIO(), catalog_key=key)
    catalog.create_database(name)
    catalog.create_table(f"{name}.{name}", SCHEMA)
    catalog.rename_table(f"{name}.{name}", f"{name}.{name}2")
    assert catalog.list_tables(name) == (f"{name}2",)
    assert listed(tmp_path) == [(key, name, f"{name}2")]
    catalog.drop_database(name, cascade=True)
    assert (catalog.list_databases(), listed(tmp_path)) == ((), [])


# --- several processes, failures --------------------------------------------------------------------------------------


def test_the_row_decides_who_creates_a_table_before_anything_is_written(tmp_path: Path) -> None:
    warehouse = jdbc_warehouse(tmp_path)
    catalogs = [jdbc_catalog(tmp_path, warehouse.io) for _ in range(6)]
    begin, outcomes = threading.Barrier(len(catalogs)), []

    def create(catalog: JdbcCatalog) -> None:
        begin.wait()
        try:
            catalog.create_table("db.t", SCHEMA)
            outcomes.append("made")
        except AlreadyExistsError:
            outcomes.append("exists")

    threads = [threading.Thread(target=create, args=(catalog,)) for catalog in catalogs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["exists"] * 5 + ["made"]
    assert warehouse.files(warehouse.catalog.load_table("db.t")) == ["schema/schema-0"]


def test_processes_that_open_a_new_database_at_the_same_time_create_its_tables_once(tmp_path: Path) -> None:
    begin, opened = threading.Barrier(6), []

    def open_catalog() -> None:
        begin.wait()
        opened.append(jdbc_catalog(tmp_path, MemoryFileIO(), lock_enabled="true").list_databases())

    threads = [threading.Thread(target=open_catalog) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert opened == [()] * 6


def test_the_loser_of_a_creation_writes_nothing(tmp_path: Path) -> None:
    warehouse = jdbc_warehouse(tmp_path)
    # Another program inserts the row after this one has looked.
    sql(tmp_path, "INSERT INTO paimon_tables VALUES ('jdbc', 'db', 't')")
    with pytest.raises(AlreadyExistsError, match=r"table 'db\.t' already exists"):
        warehouse.catalog.names.add_table(TableName("db", "t"), lambda root: pytest.fail(f"{root} is written"))
    assert warehouse.io.list(f"{tmp_path}/warehouse") == []


def test_a_creation_that_fails_is_not_listed(tmp_path: Path) -> None:
    io = HookedFileIO(MemoryFileIO())
    catalog = jdbc_catalog(tmp_path, io)
    catalog.create_database("db")
    io.before("create", "/schema-0", failing(PermissionError(13, "no")))
    with pytest.raises(PermissionError):
        catalog.create_table("db.t", SCHEMA)
    assert (listed(tmp_path), catalog.list_tables("db")) == ([], ())
    io.calm()
    assert catalog.create_table("db.t", SCHEMA)


def test_a_table_that_a_killed_creation_left_is_listed_again_or_named_in_the_error(tmp_path: Path) -> None:
    warehouse = jdbc_warehouse(tmp_path)
    warehouse.table("t", options={"write-only": "true"}).append(keyed([(1, "a", 1)]))
    sql(tmp_path, "DELETE FROM paimon_tables")
    sql(tmp_path, "DELETE FROM paimon_table_properties")
    assert warehouse.catalog.list_tables("db") == ()
    assert not warehouse.catalog.table_exists("db.t")
    with pytest.raises(TableNotFound):
        warehouse.catalog.drop_table("db.t")
    with pytest.raises(ConflictError, match=r"db\.db/t holds a table that .* does not list: .* repair_table"):
        warehouse.table("t")
    assert listed(tmp_path) == []
    assert isinstance(warehouse.catalog, JdbcCatalog)
    assert rows_of(warehouse.catalog.repair_table("db.t")) == [(1, "a", 1)]
    assert properties(tmp_path, "t") == {"write-only": "true"}
    assert rows_of(warehouse.catalog.repair_table("db.t")) == [(1, "a", 1)]
    with pytest.raises(TableNotFound, match=r"cannot be repaired: .*db\.db/u has no schema"):
        warehouse.catalog.repair_table("db.u")


def test_the_tables_of_a_database_or_of_all_are_taken_over_at_once(tmp_path: Path) -> None:
    tables_of_files(tmp_path / "warehouse")
    catalog = jdbc_catalog(tmp_path)
    catalog.repair_table("db.u")
    assert catalog.repair_database("db") == ("db.t",)
    assert catalog.repair_catalog() == ("other.t",)
    assert catalog.repair_catalog() == ()
    assert catalog.list_databases() == ("db", "empty", "other")
    with pytest.raises(DatabaseNotFound, match="nope"):
        catalog.repair_database("nope")


@pytest.mark.parametrize(
    ("given", "listed_then"),
    [("db.t", ["db.t"]), ("db", ["db.t", "db.u"]), ("db.u, other", ["db.u", "other.t"]), ("", NAMES)],
)
def test_the_procedure_repairs_tables_databases_or_all(tmp_path: Path, given: str, listed_then: list[str]) -> None:
    tables_of_files(tmp_path / "warehouse")
    catalog = jdbc_catalog(tmp_path)
    run_procedure(InProcess(catalog), "repair", positional=[given])
    found = sql(tmp_path, "SELECT database_name || '.' || table_name FROM paimon_tables ORDER BY 1")
    assert [name for (name,) in found] == listed_then


def test_tables_of_a_catalog_of_files_are_taken_over_one_by_one(tmp_path: Path) -> None:
    files = load_catalog({"warehouse": f"{tmp_path}/warehouse"})
    files.create_database("db")
    files.create_table("db.t", SCHEMA).append(keyed([(1, "a", 1)]))
    catalog = jdbc_catalog(tmp_path)
    assert catalog.list_databases() == ()
    assert rows_of(catalog.repair_table("db.t")) == [(1, "a", 1)]
    assert (catalog.list_databases(), catalog.list_tables("db")) == (("db",), ("t",))


def test_a_row_without_a_directory_is_a_table_that_can_only_be_dropped(tmp_path: Path) -> None:
    warehouse = jdbc_warehouse(tmp_path)
    table = warehouse.table("t")
    warehouse.io.delete_tree(table.store.paths.root)
    assert warehouse.catalog.list_tables("db") == ("t",)
    assert not warehouse.catalog.table_exists("db.t")
    with pytest.raises(TableNotFound, match=r"db\.db/t has no schema"):
        warehouse.catalog.load_table("db.t")
    with pytest.raises(AlreadyExistsError):
        warehouse.table("t")
    assert warehouse.catalog.load_system_table("sys.tables").scan().to_arrow().num_rows == 0
    warehouse.catalog.drop_table("db.t")
    assert warehouse.table("t")


def test_a_rename_that_fails_changes_neither_the_row_nor_the_directory(tmp_path: Path) -> None:
    io = HookedFileIO(MemoryFileIO())
    catalog = jdbc_catalog(tmp_path, io)
    catalog.create_database("db")
    catalog.create_table("db.t", SCHEMA).append(keyed([(1, "a", 1)]))
    io.before("rename_directory", "/t", failing(PermissionError(13, "no")))
    with pytest.raises(PermissionError):
        catalog.rename_table("db.t", "db.u")
    assert catalog.list_tables("db") == ("t",)
    assert rows_of(catalog.load_table("db.t")) == [(1, "a", 1)]


def test_a_table_is_not_renamed_over_files_that_are_not_listed(tmp_path: Path) -> None:
    warehouse = jdbc_warehouse(tmp_path)
    warehouse.table("t")
    warehouse.table("u")
    sql(tmp_path, "DELETE FROM paimon_tables WHERE table_name = 'u'")
    with pytest.raises(AlreadyExistsError, match=r"'db\.u' already exists"):
        warehouse.catalog.rename_table("db.t", "db.u")
    assert warehouse.catalog.list_tables("db") == ("t",)


def test_a_drop_whose_files_stay_is_finished_by_the_next_one(tmp_path: Path) -> None:
    io, catalog = with_a_table(tmp_path)
    io.before("delete_tree", "/", failing(PermissionError(13, "no")))
    with pytest.raises(OSError, match="drop it again to delete the rest"):
        catalog.drop_table("db.t")
    assert (listed(tmp_path), catalog.list_tables("db")) == ([], ())
    io.calm()
    catalog.drop_table("db.t")
    assert [*io.list_hidden(f"{tmp_path}/warehouse/db.db"), *io.list(f"{tmp_path}/warehouse/db.db")] == []
    with pytest.raises(TableNotFound):
        catalog.drop_table("db.t")


def test_a_drop_whose_directory_stays_says_how_it_is_listed_again(tmp_path: Path) -> None:
    io, catalog = with_a_table(tmp_path)
    io.before("rename_directory", "/t", failing(PermissionError(13, "no")))
    with pytest.raises(OSError, match=r"no longer listed, .* list it again with repair_table, and drop it again"):
        catalog.drop_table("db.t")
    io.calm()
    catalog.repair_table("db.t")
    catalog.drop_table("db.t")
    assert io.list(f"{tmp_path}/warehouse/db.db") == []


def test_a_database_with_other_files_is_dropped_only_with_cascade(tmp_path: Path) -> None:
    warehouse = jdbc_warehouse(tmp_path)
    warehouse.io.create(f"{tmp_path}/warehouse/db.db/notes", b"mine")
    with pytest.raises(InvalidInputError, match="no tables but other files"):
        warehouse.catalog.drop_database("db")
    assert warehouse.catalog.list_databases() == ("db",)
    warehouse.catalog.drop_database("db", cascade=True)
    assert warehouse.catalog.list_databases() == ()
    assert warehouse.io.list(f"{tmp_path}/warehouse") == []


@pytest.mark.parametrize(
    "act",
    [
        lambda catalog: catalog.list_databases(),
        lambda catalog: catalog.create_database("other"),
        lambda catalog: catalog.load_table("db.t"),
        lambda catalog: catalog.create_table("db.u", SCHEMA),
        lambda catalog: catalog.drop_table("db.t"),
        lambda catalog: catalog.rename_table("db.t", "db.u"),
    ],
)
def test_a_database_that_does_not_answer_is_one_line_that_names_it(
    tmp_path: Path, act: Callable[[JdbcCatalog], object]
) -> None:
    warehouse = jdbc_warehouse(tmp_path)
    table = warehouse.table("t")
    sql(tmp_path, "DROP TABLE paimon_tables")
    with pytest.raises(MetastoreUnavailable, match=r"^the database of the catalog, jdbc:sqlite:/.*: no such table"):
        act(warehouse.catalog)
    assert warehouse.files(table) == ["schema/schema-0"]


def test_a_change_of_a_table_stands_if_its_options_cannot_be_copied(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    warehouse = jdbc_warehouse(tmp_path)
    warehouse.table("t")
    sql(tmp_path, "DROP TABLE paimon_table_properties")
    assert warehouse.catalog.alter_table("db.t", SetOption("write-only", "true")).schema.id == 1
    assert "the options of 'db.t' in the database are not up to date" in caplog.text


def test_a_catalog_in_a_directory_that_does_not_exist_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(MetastoreUnavailable, match=f"jdbc:sqlite:{tmp_path}/nowhere/names.db: unable to open"):
        jdbc_catalog(tmp_path / "nowhere")


@pytest.mark.parametrize(("kind", "driver"), [("postgresql", "psycopg"), ("mysql", "pymysql")])
def test_a_missing_driver_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, driver: str) -> None:
    # SQLAlchemy may be there without it, because other packages bring it.
    monkeypatch.setitem(sys.modules, driver, None)
    monkeypatch.setattr("table_format.extras.find_spec", lambda _: None)
    monkeypatch.delitem(sys.modules, driver)
    options = {"metastore": "jdbc", "warehouse": str(tmp_path), "uri": f"jdbc:{kind}://127.0.0.1:1/names"}
    with pytest.raises(PackageMissing, match=rf"^{driver} is not installed: pip install 'paimon-lakehouse\[jdbc\]'$"):
        load_catalog(options)


def test_the_address_is_required(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="'uri' is required"):
        load_catalog({"metastore": "jdbc", "warehouse": str(tmp_path)})


@pytest.mark.parametrize("uri", ["jdbc:postgresql://me:hush-hush@host/db", "jdbc:postgresql://h/db?password=hush-hush"])
def test_a_password_in_the_address_is_refused_and_not_shown(tmp_path: Path, uri: str) -> None:
    with pytest.raises(InvalidOption, match="'uri': its value holds credentials") as refusal:
        load_catalog({"metastore": "jdbc", "warehouse": str(tmp_path), "uri": uri})
    assert "hush-hush" not in str(refusal.value)


def test_a_catalog_is_sent_to_other_processes_which_connect_when_they_use_it(tmp_path: Path) -> None:
    catalog = jdbc_catalog(tmp_path, LocalFileIO(), **{"jdbc.password": "hush-hush"})
    catalog.create_database("db")
    catalog.create_table("db.t", SCHEMA)
    assert "hush-hush" not in repr((catalog, catalog.database, catalog.settings, catalog.load_table("db.t")))
    sent = pickle.dumps((catalog, catalog.load_table("db.t")))
    code = (
        "import pickle, sys; catalog, table = pickle.load(sys.stdin.buffer); print('sqlalchemy' in sys.modules, "
        "table.scan().count(), 'sqlalchemy' in sys.modules, catalog.list_tables('db'), catalog.database.password)"
    )
    answer = subprocess.run([sys.executable, "-c", code], input=sent, capture_output=True, check=True).stdout
    assert answer.decode().strip() == "False 0 False ('t',) ******"


FORKING = """
import os, sys
from table_format import load_catalog
catalog = load_catalog({options})
catalog.create_database("before")
child = os.fork()
if child == 0:
    catalog.create_database("child")
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
catalog.create_database("after")
print(catalog.list_databases())
"""


def test_a_forked_process_opens_connections_of_its_own(tmp_path: Path) -> None:
    code = FORKING.format(options=sqlite_options(tmp_path))
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert answer.stdout == "('after', 'before', 'child')\n", answer.stderr


def test_threads_share_a_catalog(tmp_path: Path) -> None:
    warehouse = jdbc_warehouse(tmp_path, lock_enabled="true")
    table = warehouse.table("t")
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            warehouse.table(f"t{number}")
            table.append(keyed([(number, "a", number)]))
        except (TableFormatError, OSError) as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert [row[0] for row in rows_of(table)] == [0, 1, 2, 3]
    assert len(warehouse.catalog.list_tables("db")) == 5
    assert locks(tmp_path) == []
