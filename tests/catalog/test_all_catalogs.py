"""Databases and tables of every catalog: of directories, of a dictionary of names, and of a relational database."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from table_format import ObjectTable, Schema, Table, load_catalog
from table_format.errors import (
    AlreadyExistsError,
    BranchNotFound,
    DatabaseNotFound,
    InvalidIdentifier,
    InvalidInputError,
    InvalidOption,
    InvalidSchema,
    InvalidSchemaChange,
    TableNotFound,
    UnsupportedFeature,
)
from table_format.io.memory import MemoryFileIO
from table_format.model.schema_change import AddColumn, DropColumn, RemoveOption, SetOption
from table_format.model.types import BigIntType, IntType
from tests.support.dict_catalog import dict_warehouse
from tests.support.jdbc_catalogs import jdbc_warehouse
from tests.support.tables import Warehouse, disk_warehouse, keyed, memory_warehouse, rows_of

SCHEMA = Schema.from_arrow(pa.schema([("a", pa.int64()), ("b", pa.string())]))


@pytest.fixture(params=["disk", "memory", "dict", "jdbc"])
def warehouse(request: pytest.FixtureRequest, tmp_path: Path) -> Warehouse:
    match request.param:
        case "disk":
            return disk_warehouse(tmp_path)
        case "memory":
            return memory_warehouse()
        case "dict":
            return dict_warehouse()
    return jdbc_warehouse(tmp_path, lock_enabled="true")


def test_databases_are_made_listed_and_dropped(warehouse: Warehouse) -> None:
    catalog = warehouse.catalog
    catalog.create_database("shop")
    assert catalog.list_databases() == ("db", "shop")
    assert catalog.database_exists("shop")
    with pytest.raises(AlreadyExistsError, match="'shop' already exists"):
        catalog.create_database("shop")
    catalog.create_database("shop", ignore_if_exists=True)
    catalog.drop_database("shop")
    assert catalog.list_databases() == ("db",)
    with pytest.raises(DatabaseNotFound, match="'shop' does not exist"):
        catalog.drop_database("shop")
    catalog.drop_database("shop", ignore_if_not_exists=True)


def test_a_database_with_tables_is_dropped_only_on_demand(warehouse: Warehouse) -> None:
    warehouse.table("t")
    with pytest.raises(InvalidInputError, match="'db' is not empty, it has t"):
        warehouse.catalog.drop_database("db")
    warehouse.catalog.drop_database("db", cascade=True)
    assert warehouse.catalog.list_databases() == ()


@pytest.mark.parametrize("name", ["", "a/b", "..", "sys", "a\nb"])
def test_an_illegal_database_name_is_refused(warehouse: Warehouse, name: str) -> None:
    with pytest.raises(InvalidIdentifier):
        warehouse.catalog.create_database(name)


def test_a_table_is_made_opened_listed_and_dropped(warehouse: Warehouse) -> None:
    catalog = warehouse.catalog
    made = catalog.create_table("db.t", SCHEMA)
    assert catalog.list_tables("db") == ("t",)
    assert catalog.table_exists("db.t")
    opened = catalog.load_table("db.t")
    assert isinstance(opened, Table)
    assert opened.schema == made.schema
    catalog.drop_table("db.t")
    assert not catalog.table_exists("db.t")
    with pytest.raises(TableNotFound, match=r"'db\.t' does not exist"):
        catalog.load_table("db.t")
    with pytest.raises(TableNotFound):
        catalog.drop_table("db.t")
    catalog.drop_table("db.t", ignore_if_not_exists=True)


def test_a_table_exists_once(warehouse: Warehouse) -> None:
    warehouse.catalog.create_table("db.t", SCHEMA)
    with pytest.raises(AlreadyExistsError, match=r"'db\.t' already exists"):
        warehouse.catalog.create_table("db.t", SCHEMA)
    other = Schema.from_arrow(pa.schema([("x", pa.int32())]))
    assert warehouse.catalog.create_table("db.t", other, ignore_if_exists=True).schema.field_names == ("a", "b")


def test_a_table_needs_its_database(warehouse: Warehouse) -> None:
    with pytest.raises(DatabaseNotFound, match="'nope' does not exist"):
        warehouse.catalog.create_table("nope.t", SCHEMA)
    with pytest.raises(DatabaseNotFound):
        warehouse.catalog.list_tables("nope")


@pytest.mark.parametrize("name", ["t", "db.t$branch_b", "db.t$files", "sys.t", "db.a.b"])
def test_only_a_table_itself_can_be_made(warehouse: Warehouse, name: str) -> None:
    with pytest.raises(InvalidIdentifier):
        warehouse.catalog.create_table(name, SCHEMA)


def test_a_new_table_has_the_schema_asked_for(warehouse: Warehouse) -> None:
    nested = pa.struct([pa.field("x", pa.int32()), pa.field("y", pa.string())])
    arrow = pa.schema(
        [
            pa.field("id", pa.int64(), metadata={"description": "the key"}),
            pa.field("r", nested),
            pa.field("dt", pa.string()),
        ]
    )
    table = warehouse.catalog.create_table(
        "db.t", Schema.from_arrow(arrow, ["id", "dt"], ["dt"], {"bucket": "3"}, comment="rows")
    )
    schema = table.schema
    assert [(f.id, f.name) for f in schema.fields] == [(0, "id"), (1, "r"), (4, "dt")]
    assert schema.highest_field_id == 4
    assert not schema.field("id").type.nullable
    assert not schema.field("dt").type.nullable
    assert schema.field("id").description == "the key"
    assert (schema.partition_keys, schema.primary_keys, schema.comment) == (("dt",), ("id", "dt"), "rows")
    assert schema.time_millis > 0
    assert table.options.bucket.count == 3


def test_keys_given_as_options_move_to_the_schema(warehouse: Warehouse) -> None:
    options = {"primary-key": "a, b", "partition": "b", "bucket": "1"}
    table = warehouse.catalog.create_table("db.t", Schema(SCHEMA.fields, options=options))
    assert table.schema.primary_keys == ("a", "b")
    assert table.schema.partition_keys == ("b",)
    assert dict(table.schema.options) == {"bucket": "1"}
    with pytest.raises(InvalidOption, match="'primary-key' is also given in the schema"):
        warehouse.catalog.create_table("db.u", Schema(SCHEMA.fields, primary_keys=("a",), options=options))


@pytest.mark.parametrize(
    ("options", "keys", "error"),
    [
        ({"bukket": "2"}, ("a",), InvalidOption),
        ({"bucket": "x"}, ("a",), InvalidOption),
        ({"bucket": "-2", "postpone.merge-on-read": "true"}, ("a",), UnsupportedFeature),
        ({"bucket": "2"}, ("z",), InvalidSchema),
        ({"bucket": "2", "data-evolution.enabled": "true"}, ("a",), UnsupportedFeature),
        ({"path": "/elsewhere"}, (), InvalidOption),
    ],
)
def test_a_table_that_cannot_be_is_refused_and_leaves_nothing(
    warehouse: Warehouse, options: dict[str, str], keys: tuple[str, ...], error: type[Exception]
) -> None:
    with pytest.raises(error):
        warehouse.catalog.create_table("db.t", Schema(SCHEMA.fields, primary_keys=keys, options=options))
    assert not warehouse.catalog.table_exists("db.t")
    assert warehouse.catalog.list_tables("db") == ()


def test_a_table_is_renamed_with_its_rows(warehouse: Warehouse) -> None:
    table = warehouse.table("old")
    table.append(keyed([(1, "a", 1)]))
    warehouse.catalog.create_database("archive")
    warehouse.catalog.rename_table("db.old", "archive.new")
    assert warehouse.catalog.list_tables("db") == ()
    moved = warehouse.catalog.load_table("archive.new")
    assert isinstance(moved, Table)
    assert rows_of(moved) == [(1, "a", 1)]
    warehouse.table("old")
    with pytest.raises(AlreadyExistsError, match=r"'archive\.new' already exists"):
        warehouse.catalog.rename_table("db.old", "archive.new")
    with pytest.raises(TableNotFound):
        warehouse.catalog.rename_table("db.gone", "db.other")
    with pytest.raises(DatabaseNotFound):
        warehouse.catalog.rename_table("db.old", "nope.t")


def test_a_dropped_table_leaves_nothing_to_its_successor(warehouse: Warehouse) -> None:
    table = warehouse.table("t")
    table.append(keyed([(1, "a", 1)]))
    warehouse.catalog.drop_table("db.t")
    again = warehouse.table("t")
    assert rows_of(again) == []
    assert again.latest_snapshot() is None
    assert warehouse.files(again) == ["schema/schema-0"]


def test_options_and_columns_are_altered(warehouse: Warehouse) -> None:
    warehouse.table("t", options={"snapshot.num-retained.min": "3"})
    table = warehouse.catalog.alter_table(
        "db.t", [SetOption("write-only", "true"), AddColumn("w", IntType()), RemoveOption("snapshot.num-retained.min")]
    )
    assert table.schema.id == 1
    assert dict(table.schema.options) == {"write-only": "true"}
    assert table.schema.field_names[-1] == "w"
    assert warehouse.catalog.alter_table("db.t", DropColumn("w")).schema.id == 2


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (SetOption("writeonly", "true"), InvalidOption),
        (SetOption("bucket", "-1"), InvalidOption),
        (SetOption("merge-engine", "first-row"), (InvalidOption, InvalidSchemaChange, UnsupportedFeature)),
        (AddColumn("n", BigIntType(nullable=False)), InvalidSchemaChange),
        (DropColumn("id"), InvalidSchemaChange),
    ],
)
def test_an_illegal_change_is_refused_and_changes_nothing(
    warehouse: Warehouse, change: AddColumn | DropColumn | SetOption, error: type[Exception]
) -> None:
    table = warehouse.table("t", primary_keys=["id"])
    table.append(keyed([(1, "a", 1)]))
    with pytest.raises(error):
        warehouse.catalog.alter_table("db.t", change)
    assert warehouse.reopened(table).schema == table.schema


def test_the_merge_engine_changes_before_the_first_snapshot(warehouse: Warehouse) -> None:
    warehouse.table("t", primary_keys=["id"])
    table = warehouse.catalog.alter_table("db.t", SetOption("merge-engine", "first-row"))
    assert dict(table.schema.options)["merge-engine"] == "first-row"


def test_a_missing_branch_is_told_from_a_missing_table(warehouse: Warehouse) -> None:
    warehouse.table("t")
    with pytest.raises(BranchNotFound, match="has no branch 'b'"):
        warehouse.catalog.load_table("db.t$branch_b")
    with pytest.raises(TableNotFound):
        warehouse.catalog.load_table("db.u$branch_b")


def test_default_options_are_given_to_new_tables() -> None:
    catalog = load_catalog(
        {"warehouse": "/w", "table-default.bucket": "4", "table-default.write-only": "true"}, file_io=MemoryFileIO()
    )
    catalog.create_database("db")
    table = catalog.create_table("db.t", Schema(SCHEMA.fields, primary_keys=("a",), options={"bucket": "2"}))
    assert dict(table.schema.options) == {"bucket": "2", "write-only": "true"}


def test_an_object_table_is_made_refreshed_renamed_and_dropped(warehouse: Warehouse) -> None:
    catalog, location = warehouse.catalog, f"{warehouse.catalog.warehouse}/files"
    files = catalog.locations.find(location)
    files.io.create(f"{files.path}/a.png", b"png")
    options = {"type": "object-table", "object-location": location}
    made = catalog.create_table("db.t", Schema((), options=options))
    assert isinstance(made, ObjectTable)
    assert made.refresh().file_count == 1
    catalog.rename_table("db.t", "db.u")
    renamed = catalog.load_table("db.u")
    assert isinstance(renamed, ObjectTable)
    with renamed.open(renamed.scan().to_arrow()["path"][0].as_py()) as file:
        assert file.read() == b"png"
    catalog.drop_table("db.u")
    assert files.io.status(f"{files.path}/a.png") is not None
