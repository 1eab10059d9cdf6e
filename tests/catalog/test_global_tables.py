"""The tables of the database ``sys``."""

from __future__ import annotations

import pytest

from table_format import Schema, load_catalog
from table_format.catalog.filesystem import FileSystemCatalog
from table_format.catalog.protocol import Catalog
from table_format.errors import AlreadyExistsError, InvalidIdentifier, InvalidInputError, TableNotFound
from table_format.io.memory import MemoryFileIO
from table_format.model.types import DataField, IntType, VarCharType
from table_format.table.system.table import SystemTable
from tests.support.dict_catalog import DictCatalog
from tests.support.tables import keyed, memory_warehouse

FIELDS = (DataField(0, "k", IntType(nullable=False)), DataField(1, "p", VarCharType()))


@pytest.fixture(params=[FileSystemCatalog, DictCatalog])
def catalog(request: pytest.FixtureRequest) -> Catalog:
    defaults = {"file.format": "parquet"}
    options = {"warehouse": "/w", "cache-enabled": "false", "table-default.file.format": "parquet"}
    made = request.param("/w", MemoryFileIO(), table_defaults=defaults, options=options)
    made.create_database("my_db")
    made.create_database("my_db2")
    made.create_table("my_db.orders_orc", Schema(FIELDS, options={"bucket": "-1"}))
    made.create_table("my_db.orders2", Schema(FIELDS, options={"bucket": "-1", "sink.parallelism": "7"}))
    made.create_table("my_db2.orders_sum", Schema(FIELDS, primary_keys=("k",), options={"bucket": "1"}))
    return made


def rows_of(catalog: Catalog, name: str, *columns: str, filter: str | None = None) -> list[tuple[object, ...]]:
    table = catalog.load_table(name)
    assert isinstance(table, SystemTable)
    assert table.name == name.lower()
    found = table.scan(columns or None, filter).to_arrow()
    return list(zip(*(column.to_pylist() for column in found.columns), strict=True))


def test_the_database_lists_its_tables(catalog: Catalog) -> None:
    assert catalog.list_tables("sys") == ("all_table_options", "catalog_options", "partitions", "tables")
    assert catalog.database_exists("sys")
    assert "sys" not in catalog.list_databases()
    assert catalog.table_exists("sys.tables")
    assert not catalog.table_exists("sys.nope")


def test_the_options_of_all_tables_of_all_databases(catalog: Catalog) -> None:
    assert rows_of(catalog, "sys.all_table_options", filter="key <> 'file.format'") == [
        ("my_db", "orders2", "bucket", "-1"),
        ("my_db", "orders2", "sink.parallelism", "7"),
        ("my_db", "orders_orc", "bucket", "-1"),
        ("my_db2", "orders_sum", "bucket", "1"),
    ]


def test_the_options_the_catalog_was_opened_with(catalog: Catalog) -> None:
    assert rows_of(catalog, "sys.catalog_options") == [
        ("cache-enabled", "false"),
        ("table-default.file.format", "parquet"),
        ("warehouse", "/w"),
    ]
    assert rows_of(catalog, "sys.catalog_options", "value", filter="key = 'warehouse'") == [("/w",)]


@pytest.mark.parametrize(
    "key",
    [
        "fs.s3a.access.key",
        "s3.secret-key",
        "fs.oss.accessKeySecret",
        "jdbc.password",
        "token",
        "fs.azure.account.key.x",
        "dlf.security-token",
        "fs.azure.sas.container",
    ],
)
def test_secrets_among_options_are_never_shown(key: str) -> None:
    catalog = FileSystemCatalog("/w", MemoryFileIO(), options={"warehouse": "/w", key: "hunter2"})
    assert ("******",) in rows_of(catalog, "sys.catalog_options", "value")
    assert ("hunter2",) not in rows_of(catalog, "sys.catalog_options", "value")
    assert "hunter2" not in repr(catalog)


def test_the_table_of_catalog_options_can_be_switched_off() -> None:
    catalog = load_catalog({"warehouse": "/w", "catalog-options-table.enabled": "false"}, file_io=MemoryFileIO())
    assert catalog.list_tables("sys") == ("all_table_options", "partitions", "tables")
    with pytest.raises(TableNotFound, match=r"'sys\.catalog_options' does not exist; sys has all_table_options"):
        catalog.load_table("sys.catalog_options")


def test_tables_and_what_kind_they_are(catalog: Catalog) -> None:
    columns = ("database_name", "table_name", "table_type", "partitioned", "primary_key", "owner")
    assert rows_of(catalog, "sys.tables", *columns) == [
        ("my_db", "orders2", "table", False, False, None),
        ("my_db", "orders_orc", "table", False, False, None),
        ("my_db2", "orders_sum", "table", False, True, None),
    ]


def test_partitions_of_all_partitioned_tables() -> None:
    warehouse = memory_warehouse()
    warehouse.table("plain").append(keyed([(1, "a", 1)]))
    table = warehouse.table("parts", partition_keys=["dt"])
    table.append(keyed([(1, "a/b", 1), (2, None, 1), (3, "a/b", 3), (4, "", 4)]))
    columns = ("table_name", "partition_name", "record_count", "file_count", "done")
    # Null and an empty text are two partitions with one directory.
    assert rows_of(warehouse.catalog, "sys.partitions", *columns) == [
        ("parts", "dt=__DEFAULT_PARTITION__", 1, 1, False),
        ("parts", "dt=__DEFAULT_PARTITION__", 1, 1, False),
        ("parts", "dt=a/b", 2, 1, False),
    ]
    ((last,), *_) = rows_of(warehouse.catalog, "sys.partitions", "last_file_creation_time", filter="record_count = 2")
    written = table.snapshots()[0].time_millis
    assert isinstance(last, int)
    assert written - 60_000 < last <= written


def test_the_database_belongs_to_the_catalog(catalog: Catalog) -> None:
    with pytest.raises(InvalidIdentifier, match="holds the catalog's own tables"):
        catalog.drop_database("sys", cascade=True)
    with pytest.raises((InvalidIdentifier, AlreadyExistsError)):
        catalog.create_database("sys")
    with pytest.raises(InvalidIdentifier, match="holds the catalog's own tables"):
        catalog.create_table("sys.t", Schema(FIELDS))
    for name in ("sys.nope", "sys.tables$files"):
        with pytest.raises(TableNotFound, match="does not exist; sys has all_table_options, catalog_options"):
            catalog.load_table(name)


def test_tables_of_no_table_take_no_options(catalog: Catalog) -> None:
    table = catalog.load_table("sys.tables")
    with pytest.raises(InvalidInputError, match=r"'sys\.tables' takes no options; remove scan\.snapshot-id"):
        table.scan(options={"scan.snapshot-id": "1"})


def test_a_table_that_cannot_be_opened_hides_no_other_one(caplog: pytest.LogCaptureFixture) -> None:
    warehouse = memory_warehouse()
    warehouse.table("good", primary_keys=["id"], options={"bucket": "1"}).append(keyed([(1, "a", 1)]))
    warehouse.table("poor", primary_keys=["id"], options={"bucket": "1"})
    schema = "/warehouse/db.db/poor/schema/schema-0"
    warehouse.io.overwrite(schema, warehouse.io.read(schema).replace(b"INT", b"CHAR(0)"))
    assert rows_of(warehouse.catalog, "sys.tables", "table_name") == [("good",)]
    assert {name for (name,) in rows_of(warehouse.catalog, "sys.all_table_options", "table_name")} == {"good"}
    assert "table 'db.poor' is left out, it cannot be loaded" in caplog.text
