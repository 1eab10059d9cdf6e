"""A REST server lists the tables of the real Paimon and of this library, and publishes the snapshots of both."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

from dagster_paimon.resources.lakehouse import LakehouseCatalog
from table_format import (
    AddColumn,
    AlterColumnType,
    DropColumn,
    MoveColumn,
    RemoveOption,
    RenameColumn,
    Schema,
    SetColumnComment,
    SetColumnDefault,
    SetComment,
    SetNullability,
    SetOption,
    View,
    data_tables,
    load_catalog,
)
from table_format.catalog.rest.catalog import RestCatalog
from table_format.cli.program import lakehouse
from table_format.codecs.type_json import type_json
from table_format.errors import (
    AlreadyExistsError,
    BranchNotFound,
    ColumnNotFound,
    DatabaseNotFound,
    InvalidInputError,
    MetastoreUnavailable,
    TableNotFound,
    TableReplaced,
    UnsupportedFeature,
)
from table_format.metastore.schema.schema_changes import apply_changes
from table_format.model.schema_change import SchemaChange
from table_format.model.types import BigIntType, DataField, DecimalType, IntType, RowType, VarCharType
from table_format.secrets import Secret
from table_format.spark import paimon as lake_of
from tests.oracle.conftest import SharedLake
from tests.oracle.install import STABLE
from tests.oracle.peer import PaimonPeer, PeerError
from tests.oracle.pypaimon_peer import PyPaimonPeer
from tests.oracle.shared_catalogs import (
    BOTH,
    names,
    test_a_table_that_one_has_created_is_there_for_the_other_that_creates_it,
)
from tests.oracle.shared_tables import COLUMNS, SCHEMA, make, opened, read, write, write_in_turn
from tests.support.rest_servers import TOKEN, RestProcess, RestServer, running_rest
from tests.support.s3_server import S3Server
from tests.support.spark_session import local_session
from tests.support.tables import rows_of

__all__ = ["test_a_table_that_one_has_created_is_there_for_the_other_that_creates_it"]


@pytest.fixture(scope="module")
def servers() -> Iterator[RestProcess]:
    with running_rest() as process:
        yield process


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    session = local_session(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


@pytest.fixture
def server(servers: RestProcess, tmp_path: Path) -> RestServer:
    """A server without databases."""
    return servers.open(tmp_path / "w")


@pytest.fixture
def lake(server: RestServer, peers: Callable[[str], PaimonPeer]) -> SharedLake:
    """Its warehouse, opened by both."""
    return shared(server, peers)


def shared(server: RestServer, peers: Callable[[str], PaimonPeer]) -> SharedLake:
    theirs = peers(STABLE).with_catalog(server.java_options)
    return SharedLake(server.warehouse, load_catalog(server.options), theirs)


def ours(lake: SharedLake) -> RestCatalog:
    assert isinstance(lake.ours, RestCatalog)
    return lake.ours


# --- names ------------------------------------------------------------------------------------------------------------


@BOTH
def test_what_one_creates_the_other_lists_reads_writes_changes_and_drops(lake: SharedLake, by_us: bool) -> None:
    make(lake, {"bucket": "1"}, by_us=by_us)
    write(lake, [(1, "a", 1)], by_us=by_us)
    write(lake, [(2, "b", 2)], by_us=not by_us)
    if by_us:
        lake.theirs.alter_options(lake.uri, "db.t", {"write-only": "true"})
    else:
        lake.ours.alter_table("db.t", SetOption("write-only", "true"))
    assert opened(lake).schema.options["write-only"] == "true"
    write(lake, [(2, "b", 3)], by_us=by_us)
    assert read(lake) == [(1, "a", 1), (2, "b", 3)]
    if by_us:
        lake.theirs.catalog(lake.uri, "drop_table", "db.t")
    else:
        lake.ours.drop_table("db.t")
    assert names(lake) == {"db": []}
    make(lake, {"bucket": "1"}, by_us=by_us)
    assert read(lake) == []


@BOTH
def test_one_renames_a_table_for_both(lake: SharedLake, by_us: bool) -> None:
    # The server forgets where the files are, so nobody can read the table any more.
    make(lake, {"bucket": "1"}, by_us=not by_us)
    if by_us:
        lake.ours.create_table("db.other", Schema.from_arrow(SCHEMA))
        with pytest.raises(AlreadyExistsError, match=r"'db\.other' already exists"):
            lake.ours.rename_table("db.t", "db.other")
        lake.ours.drop_table("db.other")
    else:
        lake.theirs.catalog(lake.uri, "rename_table", "db.t", "db.u")
        assert names(lake) == {"db": ["u"]}


def test_databases_have_properties_and_are_listed_in_pages(lake: SharedLake) -> None:
    catalog = ours(lake)
    for number in range(101):  # a page of the server has a hundred
        catalog.create_database(f"d{number:03}", properties={"comment": str(number)})
    assert catalog.list_databases() == tuple(f"d{number:03}" for number in range(101))
    catalog.alter_database("d007", {"comment": None, "owner": "me"})
    assert catalog.database_properties("d007")["owner"] == "me"
    assert "comment" not in catalog.database_properties("d007")
    assert catalog.database_properties("d008")["comment"] == "8"
    with pytest.raises(AlreadyExistsError, match="'d007' already exists"):
        catalog.create_database("d007")
    with pytest.raises(InvalidInputError, match="its tables are there"):
        catalog.alter_database("d007", {"location": "/elsewhere"})
    catalog.drop_database("d007")
    with pytest.raises(DatabaseNotFound, match="'d007' does not exist"):
        catalog.drop_database("d007")
    with pytest.raises(DatabaseNotFound, match="'d007' does not exist"):
        catalog.list_tables("d007")


def test_a_database_with_tables_or_views_is_dropped_only_on_demand(lake: SharedLake) -> None:
    make(lake, {"bucket": "1"}, by_us=True)
    with pytest.raises(InvalidInputError, match="'db' is not empty, it has t"):
        lake.ours.drop_database("db")
    lake.ours.drop_table("db.t")
    ours(lake).create_view(View.of("db.v", (), "SELECT 1"))
    with pytest.raises(InvalidInputError, match="it has the view v"):
        lake.ours.drop_database("db")
    lake.ours.drop_database("db", cascade=True)
    assert names(lake) == {}


def test_names_may_have_letters_that_addresses_do_not_have(lake: SharedLake) -> None:
    lake.ours.create_database("a b&c")
    lake.ours.create_table("a b&c.é+%", Schema.from_arrow(SCHEMA)).append(
        pa.table({"k": [1], "pt": ["a"], "v": pa.array([1], pa.int32())}, schema=SCHEMA)
    )
    assert lake.ours.list_tables("a b&c") == ("é+%",)
    assert lake.ours.load_table("a b&c.é+%").scan().count() == 1
    assert len(lake.theirs.read(lake.uri, "a b&c.é+%")["rows"]) == 1


def test_what_does_not_exist_is_named(lake: SharedLake) -> None:
    make(lake, {"bucket": "1"}, by_us=True)
    with pytest.raises(TableNotFound, match=r"'db\.tt' does not exist.*did you mean db\.t\?"):
        lake.ours.load_table("db.tt")
    with pytest.raises(TableNotFound, match=r"'x\.t' does not exist"):
        lake.ours.load_table("x.t")
    with pytest.raises(BranchNotFound, match="has no branch 'b'"):
        lake.ours.load_table("db.t$branch_b")
    with pytest.raises(ColumnNotFound, match="'x'"):
        lake.ours.alter_table("db.t", DropColumn("x"))
    assert not lake.ours.table_exists("db.tt")
    assert not lake.ours.database_exists("x")


# --- schemas ----------------------------------------------------------------------------------------------------------

CHANGES: list[SchemaChange] = [
    AddColumn("n", RowType((DataField(0, "x", IntType()), DataField(0, "y", VarCharType(length=3)))), "nested"),
    AddColumn("first", BigIntType(), first=True),
    AddColumn("after", DecimalType(10, 2), after="k"),
    AddColumn(("n", "z"), IntType(), after="x"),
    RenameColumn("after", "price"),
    AlterColumnType("v", BigIntType()),
    AlterColumnType(("n", "x"), BigIntType()),
    SetColumnComment("v", "a value"),
    SetColumnComment("v", None),
    SetColumnDefault("v", "5"),
    MoveColumn("price", first=True),
    MoveColumn("price", after="v"),
    MoveColumn("first"),
    DropColumn(("n", "y")),
    DropColumn("price"),
    SetNullability("first", nullable=True),
    SetComment("a table"),
    SetComment(None),
    SetOption("snapshot.num-retained.max", "30"),
    RemoveOption("snapshot.num-retained.max"),
]


def test_the_server_makes_of_each_change_the_same_schema_as_this_library(lake: SharedLake) -> None:
    make(lake, {"bucket": "1"}, by_us=True)
    for change in CHANGES:
        before = opened(lake).schema
        expected = apply_changes(before, [change])
        after = lake.ours.alter_table("db.t", change).schema
        found = (after.fields, after.options, after.comment, after.highest_field_id)
        assert found == (expected.fields, expected.options, expected.comment, expected.highest_field_id), change
    assert [field.name for field in opened(lake).schema.fields] == lake.theirs.read(lake.uri, "db.t")["columns"]


def test_a_column_within_another_is_not_moved(lake: SharedLake) -> None:
    make(lake, {"bucket": "1"}, by_us=True)
    lake.ours.alter_table("db.t", CHANGES[0])
    with pytest.raises(UnsupportedFeature, match=r"'n\.x' cannot be moved: a REST catalog"):
        lake.ours.alter_table("db.t", MoveColumn(("n", "x")))


# --- commits ----------------------------------------------------------------------------------------------------------


@BOTH
def test_both_write_in_turn(lake: SharedLake, by_us: bool) -> None:
    write_in_turn(lake, {}, ["a", "b", "c"], by_us=by_us)


def test_both_write_at_once_and_no_row_is_lost_or_doubled(lake: SharedLake) -> None:
    make(lake, {"bucket": "-1"}, by_us=True, keys=[])

    def write_some(first: int) -> None:
        for number in range(first, first + 4):
            write(lake, [(number, "a", number)], by_us=True)

    with ThreadPoolExecutor(2) as threads:
        running = [threads.submit(write_some, first) for first in (0, 100)]
        for number in range(200, 204):
            write(lake, [(number, "a", number)], by_us=False)
        for future in running:
            future.result()
    expected = [(first + i, "a", first + i) for first in (0, 100, 200) for i in range(4)]
    assert read(lake) == expected
    assert [snapshot.id for snapshot in opened(lake).snapshots()] == list(range(1, 13))


def test_a_commit_whose_answer_is_a_failure_takes_effect_once(lake: SharedLake, servers: RestProcess) -> None:
    make(lake, {"bucket": "1"}, by_us=True)
    servers.fail_after_next_commit()
    write(lake, [(1, "a", 1)], by_us=True)
    write(lake, [(2, "a", 2)], by_us=True)
    assert [snapshot.id for snapshot in opened(lake).snapshots()] == [1, 2]
    assert read(lake) == [(1, "a", 1), (2, "a", 2)]


def test_both_tell_the_server_the_same_about_partitions(lake: SharedLake) -> None:
    told = []
    for by_us in (True, False):
        name = f"db.t{by_us}".lower()
        make(lake, {"bucket": "2", "metastore.partitioned-table": "true"}, by_us=by_us, name=name)
        write(lake, [(1, "a", 1), (2, "a", 2), (3, "b", 1)], by_us=by_us, name=name)
        write(lake, [(1, "a", 3), (4, " ", 3)], by_us=by_us, name=name)
        found = ours(lake).client.listed("partitions", "databases", "db", "tables", name[3:], "partitions")
        compared = ("recordCount", "fileCount", "totalBuckets")
        told.append(sorted((part["spec"]["pt"], *(part[key] for key in compared)) for part in found))
    assert told[0] == told[1]
    assert [part[:2] for part in told[0]] == [("__DEFAULT_PARTITION__", 1), ("a", 3), ("b", 1)]


def test_a_table_that_another_has_replaced_is_not_written(lake: SharedLake) -> None:
    make(lake, {"bucket": "1"}, by_us=True)
    old = opened(lake)
    lake.ours.drop_table("db.t")
    make(lake, {"bucket": "1"}, by_us=False)
    with pytest.raises((TableNotFound, TableReplaced), match=r"created again|dropped"):
        old.append(pa.table({"k": [1], "pt": ["a"], "v": pa.array([1], pa.int32())}, schema=SCHEMA))
    assert read(lake) == []


def test_a_process_that_received_the_table_commits_through_the_server(lake: SharedLake) -> None:
    make(lake, {"bucket": "1"}, by_us=True)
    sent = pickle.loads(pickle.dumps(opened(lake)))  # noqa: S301 - our own bytes
    assert TOKEN not in repr(sent.store)
    sent.append(pa.table({"k": [1], "pt": ["a"], "v": pa.array([1], pa.int32())}, schema=SCHEMA))
    write(lake, [(2, "a", 2)], by_us=False)
    assert read(lake) == [(1, "a", 1), (2, "a", 2)]


def test_compaction_and_expiry_leave_what_the_other_reads(lake: SharedLake) -> None:
    make(lake, {"bucket": "1"}, by_us=False)
    for number in range(4):
        write(lake, [(1, "a", number)], by_us=number % 2 == 0)
    opened(lake).compact(full=True)
    opened(lake).expire_snapshots(retain_max=1, retain_min=1, retain_floor_ms=0)
    assert len(opened(lake).snapshots()) == 1
    write(lake, [(2, "a", 9)], by_us=False)
    assert read(lake) == [(1, "a", 3), (2, "a", 9)]
    assert opened(lake).verify(depth="rows").is_healthy


# --- history ----------------------------------------------------------------------------------------------------------


def test_branches_tags_and_rollback_are_the_same_for_both(lake: SharedLake) -> None:
    make(lake, {"bucket": "1"}, by_us=True)
    write(lake, [(1, "a", 1)], by_us=True)
    table = opened(lake)
    table.create_tag("one")
    table.create_branch("b", tag="one")
    lake.theirs.history(lake.uri, "db.t", "create_branch", "c", "one")
    kept = lake.theirs.kept(lake.uri, "db.t")
    assert (sorted(kept["branches"]), sorted(table.branches())) == (["b", "c"], ["b", "c"])
    with pytest.raises(AlreadyExistsError, match="branch 'c' already exists"):
        table.create_branch("c", tag="one")
    table.create_branch("c", tag="one", ignore_if_exists=True)
    write(lake, [(2, "a", 2)], by_us=True, name="db.t$branch_b")
    write(lake, [(3, "a", 3)], by_us=False, name="db.t$branch_b")
    assert read(lake, "db.t$branch_b") == [(1, "a", 1), (2, "a", 2), (3, "a", 3)]
    assert read(lake) == [(1, "a", 1)]
    assert table.fast_forward("b").snapshot_ids == (1, 2, 3)
    assert len(read(lake)) == 3
    report = table.rollback_to("one")
    assert (report.snapshot.id, report.snapshot_ids) == (1, (2, 3))
    write(lake, [(4, "a", 4)], by_us=False)
    assert read(lake) == [(1, "a", 1), (4, "a", 4)]
    table.rollback_to(1)
    assert read(lake) == [(1, "a", 1)]
    table.rename_branch("c", "d")
    table.delete_branch("d")
    with pytest.raises(BranchNotFound, match="branch 'd' does not exist"):
        table.delete_branch("d")
    assert sorted(table.branches()) == ["b"]


# --- views ------------------------------------------------------------------------------------------------------------

FIELDS = (DataField(0, "k", IntType(nullable=False), "the key"), DataField(1, "price", DecimalType(10, 2)))
VIEW = View.of("db.v", FIELDS, "SELECT 'é' AS k,\n  \"x\" FROM t", comment="it's", options={"of": "me"})


def test_each_reads_the_views_of_the_other(lake: SharedLake) -> None:
    lake.ours.create_database("db")
    ours(lake).create_view(VIEW)
    found = lake.theirs.views(lake.uri, "db.v", "load")
    assert (found["query"], found["dialects"], found["comment"]) == (VIEW.query, dict(VIEW.dialects), "it's")
    fields = [[field.name, type_json(field.type)] for field in FIELDS]
    given = {"query": "SELECT 1", "dialects": {"flink": "SELECT 2"}, "comment": "c", "options": {"a": "b"}}
    lake.theirs.views(lake.uri, "db.w", "create", fields=fields, **given)
    theirs = ours(lake).load_view("db.w")
    assert (theirs.query, dict(theirs.dialects), theirs.comment) == ("SELECT 1", {"flink": "SELECT 2"}, "c")
    assert [field.type for field in theirs.fields] == [field.type for field in FIELDS]
    assert ours(lake).list_views("db") == ("v", "w")
    ours(lake).drop_view("db.w")
    with pytest.raises(PeerError, match="ViewNotExistException"):
        lake.theirs.views(lake.uri, "db.w", "load")


# --- tables of other kinds --------------------------------------------------------------------------------------------


def test_an_external_table_is_written_by_its_files_which_stay_when_it_is_dropped(
    lake: SharedLake, tmp_path: Path
) -> None:
    elsewhere = load_catalog({"warehouse": str(tmp_path / "elsewhere")})
    elsewhere.create_database("x")
    location = elsewhere.create_table("x.t", Schema.from_arrow(SCHEMA, ["k", "pt"], ["pt"], {"bucket": "1"})).location
    make(lake, {"bucket": "1", "path": location}, by_us=False)
    write(lake, [(1, "a", 1)], by_us=True)
    write(lake, [(2, "a", 2)], by_us=False)
    assert read(lake) == [(1, "a", 1), (2, "a", 2)]
    lake.ours.drop_table("db.t")
    assert names(lake) == {"db": []}
    assert elsewhere.load_table("x.t").scan().count() == 2


def test_a_table_is_read_and_written_in_the_store_that_its_location_names(
    server: RestServer, moto: S3Server, in_s3: Callable[[S3Server], PaimonPeer], spark: Any
) -> None:
    bucket = moto.make_bucket(f"rest-{server.warehouse}")
    of_store = in_s3(moto).catalog_options
    theirs = in_s3(moto).with_catalog({**of_store, **server.java_options})
    elsewhere = load_catalog({"warehouse": bucket, **of_store})
    elsewhere.create_database("x")
    location = elsewhere.create_table("x.t", Schema.from_arrow(SCHEMA, ["k", "pt"], ["pt"], {"bucket": "1"})).location
    lake = SharedLake(server.warehouse, load_catalog({**of_store, **server.options}), theirs)
    make(lake, {"bucket": "1", "path": location}, by_us=False)
    write(lake, [(1, "a", 1)], by_us=True)
    write(lake, [(2, "a", 2)], by_us=False)
    assert read(lake) == [(1, "a", 1), (2, "a", 2)]
    assert opened(lake).location == location
    on_spark = lake_of(spark, {**of_store, **server.options})
    for _ in range(2):  # the directory has another name than the table
        assert on_spark.attach("db") == ("t",)
    assert spark.sql("SELECT * FROM db.t").count() == 2


def test_tables_without_snapshots_are_listed_refused_and_dropped(lake: SharedLake) -> None:
    make(lake, {"bucket": "1"}, by_us=False)
    for kind in ("format-table", "object-table"):
        lake.theirs.create_table(lake.uri, "db.f", columns=COLUMNS, options={"type": kind, "file.format": "csv"})
        assert lake.ours.list_tables("db") == ("f", "t")
        assert list(data_tables(lake.ours)) == ["db.t"]
        assert lake.ours.table_exists("db.f")
        with pytest.raises(UnsupportedFeature, match=f"'db.f' is a table of the type '{kind}'"):
            lake.ours.load_table("db.f")
        lake.ours.drop_table("db.f")
    for kind in ("format-table", "object-table"):
        with pytest.raises(UnsupportedFeature, match=r"a format table|'object-table'"):
            lake.ours.create_table("db.f", Schema.from_arrow(SCHEMA, options={"type": kind}))


# --- the server -------------------------------------------------------------------------------------------------------


def test_the_server_gives_defaults_to_new_tables_and_may_ask_for_what_is_refused(
    servers: RestProcess, tmp_path: Path
) -> None:
    options = servers.open(tmp_path / "a", **{"table-default.num-levels": "4", "unknown": "x"}).options
    catalog = load_catalog({**options, "table-default.write-only": "true", "table-default.file.format": "orc"})
    catalog.create_database("db")
    defaults = {"num-levels": "4", "write-only": "true", "file.format": "orc"}
    keyed = Schema.from_arrow(SCHEMA, ["k"], options={"bucket": "1"})
    assert {**catalog.create_table("db.t", keyed).schema.options} == {"bucket": "1", **defaults}
    tokens = servers.open(tmp_path / "b", **{"data-token.enabled": "true"})
    with pytest.raises(UnsupportedFeature, match=r"its option 'data-token\.enabled' is on"):
        load_catalog(tokens.options)


def test_a_missing_right_is_one_line_without_the_token(server: RestServer, lake: SharedLake) -> None:
    wrong = {**server.options, "token": Secret("another-token")}
    with pytest.raises(MetastoreUnavailable, match=rf"GET {server.url}v1/config: 401 Unauthorized") as raised:
        load_catalog(wrong)
    assert "another-token" not in str(raised.value)
    make(lake, {"bucket": "1"}, by_us=True)
    table = opened(lake)
    server.forbid_table("db.t")
    rows = pa.table({"k": [1], "pt": ["a"], "v": pa.array([1], pa.int32())}, schema=SCHEMA)
    for refused in (lambda: lake.ours.load_table("db.t"), lambda: table.append(rows)):
        with pytest.raises(MetastoreUnavailable, match=r"/databases/db/tables/t\S*: 403 Forbidden: \S") as raised:
            refused()
        assert len(str(raised.value).splitlines()) == 1
        assert TOKEN not in str(raised.value)


# --- Spark ------------------------------------------------------------------------------------------------------------


def test_spark_writes_through_the_server_and_only_reads_attached_tables(
    lake: SharedLake, server: RestServer, spark: Any
) -> None:
    on_spark = lake_of(spark, server.options)
    make(lake, {"bucket": "2"}, by_us=False)
    on_spark.sql("INSERT INTO db.t VALUES (1, 'a', 1), (2, 'b', 2)")
    write(lake, [(3, "a", 3)], by_us=False)
    on_spark.sql("UPDATE db.t SET v = 9 WHERE k = 1")
    on_spark.compact("db.t", full=True)
    assert read(lake) == [(1, "a", 9), (2, "b", 2), (3, "a", 3)]
    on_spark.sql("CREATE VIEW db.w AS SELECT k FROM db.t WHERE v > 2")
    assert sorted(row.k for row in on_spark.sql("SELECT * FROM db.w").collect()) == [1, 3]
    assert on_spark.attach("db") == ("t",)
    assert spark.sql("SELECT * FROM db.t").count() == 3
    for statement in ("INSERT INTO db.t VALUES (4, 'a', 4)", "INSERT INTO db.t SELECT * FROM db.t"):
        with pytest.raises(Exception, match=r"use lake\.sql|no table is named"):
            spark.sql(statement)
    write(lake, [(4, "a", 4)], by_us=True)
    assert [snapshot.id for snapshot in opened(lake).snapshots()] == list(range(1, 6))


# --- other programs ---------------------------------------------------------------------------------------------------


def test_pypaimon_and_this_library_write_in_turn(lake: SharedLake, server: RestServer, pypaimon: PyPaimonPeer) -> None:
    make(lake, {"bucket": "1"}, by_us=True)
    for number in range(4):
        if number % 2:
            pypaimon.write(lake.uri, "db.t", [[number, "a", number]], **server.java_options)
        else:
            write(lake, [(number, "a", number)], by_us=True)
    expected = [(number, "a", number) for number in range(4)]
    assert read(lake) == expected
    assert sorted(map(tuple, pypaimon.read(lake.uri, "db.t", **server.java_options))) == expected


def test_the_command_line_and_dagster_open_the_catalog(
    lake: SharedLake, server: RestServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(lake, {"bucket": "1"}, by_us=True)
    write(lake, [(1, "a", 1)], by_us=True)
    given = {key: value for key, value in server.java_options.items() if key != "token"}
    lines = [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in {"warehouse": lake.uri, **given}.items()]
    (tmp_path / "lakehouse.toml").write_text("\n".join([*lines, 'token = { env = "REST_TOKEN" }']))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REST_TOKEN", TOKEN)
    for command, wanted in {
        "tables": "db.t",
        "count db.t": "1",
        "compact db.t --full": "",
        "expire db.t": "",
        "init other": "2 databases",
    }.items():
        result = CliRunner().invoke(lakehouse, command.split())
        assert (result.exit_code, wanted in result.output) == (0, True), result.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lakehouse.toml", "w"]
    rest = {key: value for key, value in given.items() if key != "metastore"}
    resource = LakehouseCatalog(
        warehouse=lake.uri, metastore="rest", options=rest, secret_options={"token": "REST_TOKEN"}
    )
    assert rows_of(resource.table("db.t")) == [(1, "a", 1)]
