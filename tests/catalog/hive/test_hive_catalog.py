"""What the catalog keeps in a real Hive metastore, and the laws of all catalogs on it."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from table_format import AddColumn, DropColumn, RemoveOption, RenameColumn, Schema, SetOption, load_catalog
from table_format.catalog.hive.catalog import HiveCatalog
from table_format.catalog.hive.metastore import thrift
from table_format.errors import (
    AlreadyExistsError,
    ConflictError,
    DatabaseNotFound,
    InvalidIdentifier,
    InvalidInputError,
    InvalidOption,
    MetastoreUnavailable,
    TableNotFound,
    UnsupportedFeature,
)
from table_format.io.memory import MemoryFileIO
from table_format.types import IntType
from tests.catalog import test_all_catalogs
from tests.support.hive_metastore import HiveMetastore, hive_catalog, listed
from tests.support.metastore_table import HookedFileIO, failing
from tests.support.tables import KEYED, Warehouse, keyed, rows_of

SCHEMA = Schema.from_arrow(KEYED)
ALL_TYPES = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False, metadata={"description": "the key\nof a row"}),
        ("b", pa.bool_()),
        ("f", pa.float32()),
        ("d", pa.decimal128(10, 2)),
        ("s", pa.string()),
        ("x", pa.binary()),
        ("day", pa.date32()),
        ("t", pa.time32("ms")),
        ("ts", pa.timestamp("us")),
        ("tz", pa.timestamp("us", "UTC")),
        ("l", pa.list_(pa.struct([("a", pa.int32()), ("b", pa.string())]))),
        ("m", pa.map_(pa.string(), pa.int8())),
    ]
)
# The metastore always has the database "default", which these do not expect.
_OTHERS = {
    "test_databases_are_made_listed_and_dropped",
    "test_a_database_with_tables_is_dropped_only_on_demand",
    "test_default_options_are_given_to_new_tables",
}
globals().update(
    {name: law for name, law in vars(test_all_catalogs).items() if name.startswith("test_") and name not in _OTHERS}
)


def hive_of(warehouse: Warehouse) -> HiveCatalog:
    assert isinstance(warehouse.catalog, HiveCatalog)
    return warehouse.catalog


def create_hive_table(catalog: HiveCatalog, name: str, kind: str = "MANAGED_TABLE") -> None:
    """Create a table as Hive does, of files that a format table does not have."""
    api = thrift()
    database, _, table = name.partition(".")
    files = "org.apache.hadoop.mapred.SequenceFileInputFormat"
    serde = api.SerDeInfo(serializationLib="org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe", parameters={})
    descriptor = api.StorageDescriptor(cols=[api.FieldSchema("a", "int", None)], inputFormat=files, serdeInfo=serde)
    made = api.Table(tableName=table, dbName=database, sd=descriptor, parameters={}, partitionKeys=[], tableType=kind)
    catalog.metastore.change("create_table", made)


def write_site(directory: Path, settings: dict[str, str]) -> None:
    properties = (f"<property><name>{key}</name><value>{value}</value></property>" for key, value in settings.items())
    (directory / "hive-site.xml").write_text(f"<configuration>{''.join(properties)}</configuration>")


# --- what is in the metastore -----------------------------------------------------------------------------------------


def test_databases_are_made_listed_and_dropped(warehouse: Warehouse) -> None:
    catalog = warehouse.catalog
    catalog.create_database("shop")
    assert catalog.list_databases() == ("db", "default", "shop")
    with pytest.raises(AlreadyExistsError, match="'shop' already exists"):
        catalog.create_database("shop")
    catalog.create_database("shop", ignore_if_exists=True)
    catalog.drop_database("shop")
    with pytest.raises(DatabaseNotFound, match="'shop' does not exist"):
        catalog.drop_database("shop")
    warehouse.table("t")
    with pytest.raises(InvalidInputError, match="'db' is not empty, it has t"):
        catalog.drop_database("db")
    catalog.drop_database("db", cascade=True)
    assert catalog.list_databases() == ("default",)
    assert warehouse.io.list(catalog.warehouse) == []
    with pytest.raises(InvalidInputError, match="'default' cannot be dropped"):
        catalog.drop_database("default")


def test_a_table_is_in_the_metastore_as_paimon_for_java_writes_it(
    metastore: HiveMetastore, warehouse: Warehouse, tmp_path: Path
) -> None:
    schema = Schema.from_arrow(ALL_TYPES, ["id"], options={"bucket": "2"}, comment="of the shop")
    warehouse.catalog.create_table("db.t", schema)
    found = listed(metastore, "db.t")
    columns = {column.name: (column.type, column.comment) for column in found.sd.cols}
    assert columns == {
        "id": ("bigint", "the key of a row"),
        "b": ("boolean", None),
        "f": ("float", None),
        "d": ("decimal(10,2)", None),
        "s": ("string", None),
        "x": ("binary", None),
        "day": ("date", None),
        "t": ("string", None),
        "ts": ("timestamp", None),
        "tz": ("timestamp", None),
        "l": ("array<struct<a:int,b:string>>", None),
        "m": ("map<string,tinyint>", None),
    }
    properties = {key: value for key, value in found.parameters.items() if key != "transient_lastDdlTime"}
    assert properties == {
        "bucket": "2",
        "bucket-key": "id",
        "comment": "of the shop",
        "primary-key": "id",
        "storage_handler": "org.apache.paimon.hive.PaimonStorageHandler",
        "table_type": "PAIMON",
    }
    assert (found.tableType, found.partitionKeys) == ("MANAGED_TABLE", [])
    assert found.sd.serdeInfo.serializationLib == "org.apache.paimon.hive.PaimonSerDe"
    assert found.sd.location == f"file:{tmp_path}/warehouse/db.db/t"


def test_columns_options_and_comment_in_the_metastore_follow_the_schema(
    metastore: HiveMetastore, warehouse: Warehouse
) -> None:
    warehouse.table("t", options={"snapshot.num-retained.min": "3"})
    warehouse.catalog.alter_table(
        "db.t", [AddColumn("w", IntType()), DropColumn("v"), RenameColumn("dt", "day"), SetOption("write-only", "true")]
    )
    warehouse.catalog.alter_table("db.t", RemoveOption("snapshot.num-retained.min"))
    found = listed(metastore, "db.t")
    assert [(column.name, column.type) for column in found.sd.cols] == [
        ("id", "bigint"),
        ("day", "string"),
        ("w", "int"),
    ]
    assert found.parameters["write-only"] == "true"
    assert "snapshot.num-retained.min" not in found.parameters


def test_a_change_that_the_metastore_refuses_stands_with_a_warning(
    metastore: HiveMetastore, warehouse: Warehouse, caplog: pytest.LogCaptureFixture
) -> None:
    # It compares the types of columns by their position, unless it is set up otherwise.
    warehouse.table("t")
    table = warehouse.catalog.alter_table("db.t", DropColumn("dt"))
    assert table.schema.field_names == ("id", "v")
    assert "the columns of 'db.t' in the Hive metastore are not up to date" in caplog.text
    assert "types incompatible with the existing columns" in caplog.text
    assert [column.name for column in listed(metastore, "db.t").sd.cols] == ["id", "dt", "v"]
    table.append(pa.table({"id": [1], "v": pa.array([1], pa.int32())}))
    assert rows_of(warehouse.reopened(table)) == [(1, 1)]


def test_only_what_hive_needs_is_copied_if_the_catalog_says_so(metastore: HiveMetastore, warehouse: Warehouse) -> None:
    options = {"sync-all-properties": "false", "warehouse": warehouse.catalog.warehouse}
    catalog = load_catalog({**metastore.options, **options}, file_io=warehouse.io)
    catalog.create_table("db.t", Schema.from_arrow(KEYED, options={"write-only": "true"}))
    assert "write-only" not in listed(metastore, "db.t").parameters


def test_a_database_has_a_comment_an_owner_properties_and_a_location(warehouse: Warehouse, tmp_path: Path) -> None:
    catalog = hive_of(warehouse)
    given = {"comment": "sales", "owner": "me", "level": "gold", "location": f"file:{tmp_path}/elsewhere"}
    catalog.create_database("shop", properties=given)
    assert catalog.database_properties("shop") == {**given, "location": f"{tmp_path}/elsewhere"}
    table = catalog.create_table("shop.t", SCHEMA)
    assert table.store.paths.root == f"{tmp_path}/elsewhere/t"
    catalog.alter_database("shop", {"level": None, "owner": "you", "since": "2026"})
    changed = {"comment": "sales", "owner": "you", "since": "2026", "location": f"{tmp_path}/elsewhere"}
    assert catalog.database_properties("shop") == changed
    with pytest.raises(UnsupportedFeature, match="does not change comment of database 'shop'"):
        catalog.alter_database("shop", {"comment": "of the new shop"})
    with pytest.raises(InvalidInputError, match="'location' of database 'shop' cannot be changed"):
        catalog.alter_database("shop", {"location": "/w"})
    catalog.drop_database("shop", cascade=True)
    assert warehouse.io.list(f"{tmp_path}/elsewhere") == []
    with pytest.raises(UnsupportedFeature, match="'hdfs://h/w' is in another store than the warehouse"):
        catalog.create_database("far", properties={"location": "hdfs://h/w"})


def test_a_database_in_the_directory_of_others_is_dropped_without_them(warehouse: Warehouse) -> None:
    catalog = hive_of(warehouse)
    warehouse.table("t").append(keyed([(1, "a", 1)]))
    catalog.create_database("outer_one", properties={"location": catalog.warehouse})
    mine = catalog.create_table("outer_one.mine", SCHEMA)
    catalog.drop_database("outer_one", cascade=True)
    assert warehouse.io.status(mine.store.paths.root) is None
    assert rows_of(catalog.load_table("db.t")) == [(1, "a", 1)]


def test_names_with_upper_case_letters_are_refused_and_never_found(warehouse: Warehouse) -> None:
    warehouse.table("t")
    assert not warehouse.catalog.table_exists("db.T")
    for act in (
        lambda: warehouse.catalog.create_table("db.T", SCHEMA),
        lambda: warehouse.catalog.create_database("Shop"),
        lambda: warehouse.catalog.rename_table("db.t", "db.U"),
    ):
        with pytest.raises(InvalidIdentifier, match="the Hive metastore ignores case"):
            act()
    with pytest.raises(InvalidIdentifier, match=r"'a-b' is not legal in Hive"):
        warehouse.catalog.create_database("a-b")


def test_tables_of_hive_with_other_files_are_not_listed_and_never_touched(
    metastore: HiveMetastore, warehouse: Warehouse
) -> None:
    catalog, words = hive_of(warehouse), "a table of Hive"
    create_hive_table(catalog, "db.h", "MANAGED_TABLE")
    warehouse.table("t")
    assert catalog.list_tables("db") == ("t",)
    assert not catalog.table_exists("db.h")
    with pytest.raises(TableNotFound, match=rf"'db\.h' is {words}.*, not a table of this format"):
        catalog.load_table("db.h")
    with pytest.raises(TableNotFound, match=words):
        catalog.drop_table("db.h")
    for act in (lambda: catalog.create_table("db.h", SCHEMA), lambda: catalog.repair_table("db.h")):
        with pytest.raises(ConflictError, match=rf"the name 'db\.h' is taken: .* {words}"):
            act()
    with pytest.raises(AlreadyExistsError):
        catalog.rename_table("db.t", "db.h")
    with pytest.raises(InvalidInputError, match="h are tables of Hive or Spark; drop each by its name"):
        catalog.drop_database("db", cascade=True)
    assert listed(metastore, "db.h").tableType == "MANAGED_TABLE"
    assert catalog.list_tables("db") == ("t",)


def test_the_files_of_an_external_table_stay_when_it_is_renamed_or_dropped(
    metastore: HiveMetastore, warehouse: Warehouse, tmp_path: Path
) -> None:
    catalog = hive_catalog(metastore, tmp_path, warehouse.io, **{"table.type": "external"})
    table = catalog.create_table("db.t", SCHEMA)
    table.append(keyed([(1, "a", 1)]))
    root = table.store.paths.root
    found = listed(metastore, "db.t")
    assert (found.tableType, found.parameters["EXTERNAL"]) == ("EXTERNAL_TABLE", "TRUE")
    catalog.rename_table("db.t", "db.u")
    assert catalog.load_table("db.u").store.paths.root == root
    assert rows_of(catalog.load_table("db.u")) == [(1, "a", 1)]
    catalog.drop_table("db.u")
    assert catalog.list_tables("db") == ()
    assert rows_of(catalog.repair_table("db.t")) == [(1, "a", 1)]
    catalog.drop_database("db", cascade=True)
    assert warehouse.io.list(f"{root}/snapshot") != []


def test_an_external_table_that_hive_purges_is_dropped_with_its_files(
    metastore: HiveMetastore, warehouse: Warehouse, tmp_path: Path
) -> None:
    # Hive 4 turns each managed table into such a table.
    catalog = hive_catalog(metastore, tmp_path, warehouse.io, **{"table.type": "external"})
    root = catalog.create_table("db.t", SCHEMA).store.paths.root
    entry = listed(metastore, "db.t")
    entry.parameters["external.table.purge"] = "TRUE"
    change = ("alter_table_with_environment_context", "db", "t", entry, thrift().EnvironmentContext({}))
    catalog.metastore.change(*change)
    catalog.rename_table("db.t", "db.u")
    assert catalog.load_table("db.u").store.paths.root == root
    catalog.drop_table("db.u")
    assert warehouse.io.list(f"{tmp_path}/warehouse/db.db") == []


def test_locations_can_be_properties_of_which_the_metastore_knows_nothing(
    metastore: HiveMetastore, warehouse: Warehouse, tmp_path: Path
) -> None:
    catalog = hive_catalog(metastore, tmp_path, warehouse.io, **{"location-in-properties": "true"})
    catalog.create_database("shop")
    catalog.create_table("shop.t", SCHEMA).append(keyed([(1, "a", 1)]))
    assert listed(metastore, "shop.t").parameters["paimon_location"] == f"{tmp_path}/warehouse/shop.db/t"
    catalog.rename_table("shop.t", "shop.u")
    assert listed(metastore, "shop.u").parameters["paimon_location"] == f"{tmp_path}/warehouse/shop.db/u"
    assert rows_of(catalog.load_table("shop.u")) == [(1, "a", 1)]


def test_the_warehouse_is_by_default_that_of_the_metastore_or_of_hive_site_xml(
    metastore: HiveMetastore, tmp_path: Path
) -> None:
    assert load_catalog(metastore.options).warehouse == str(metastore.warehouse)
    own = {"hive.metastore.uris": metastore.uri, "hive.metastore.warehouse.dir": f"{tmp_path}/of-the-site"}
    write_site(tmp_path, own)
    catalog = load_catalog({"metastore": "hive", "hive-conf-dir": str(tmp_path)})
    assert catalog.warehouse == f"{tmp_path}/of-the-site"
    assert "default" in catalog.list_databases()


# --- failures ---------------------------------------------------------------------------------------------------------


def test_a_table_that_is_not_listed_is_named_in_the_error_and_repaired(warehouse: Warehouse) -> None:
    warehouse.table("t", options={"write-only": "true"}).append(keyed([(1, "a", 1)]))
    catalog = hive_of(warehouse)
    catalog.metastore.change("drop_table", "db", "t", False)
    with pytest.raises(ConflictError, match=r"db\.db/t holds a table that .* does not list: .* repair_table"):
        warehouse.table("t")
    assert catalog.repair_database("db") == ("db.t",)
    assert catalog.repair_catalog() == ()
    assert rows_of(catalog.load_table("db.t")) == [(1, "a", 1)]
    with pytest.raises(TableNotFound, match=r"cannot be repaired: .*db\.db/u has no schema"):
        catalog.repair_table("db.u")


def test_columns_that_are_not_up_to_date_are_repaired(metastore: HiveMetastore, warehouse: Warehouse) -> None:
    warehouse.table("t")
    files = load_catalog({"warehouse": warehouse.catalog.warehouse}, file_io=warehouse.io)
    files.alter_table("db.t", AddColumn("w", IntType()))
    assert [column.name for column in listed(metastore, "db.t").sd.cols] == ["id", "dt", "v"]
    hive_of(warehouse).repair_table("db.t")
    assert [column.name for column in listed(metastore, "db.t").sd.cols] == ["id", "dt", "v", "w"]


def test_a_creation_that_the_metastore_refuses_leaves_nothing(warehouse: Warehouse) -> None:
    with pytest.raises(
        InvalidInputError, match=r"'db\.a b;c' cannot be in a Hive metastore: .* not a valid object name"
    ):
        warehouse.table("a b;c")
    assert warehouse.io.list(f"{warehouse.catalog.warehouse}/db.db") == []


def test_a_rename_whose_directory_cannot_be_moved_changes_nothing(metastore: HiveMetastore, tmp_path: Path) -> None:
    io = HookedFileIO(MemoryFileIO())
    catalog = hive_catalog(metastore, tmp_path, io)
    catalog.create_database("db")
    catalog.create_table("db.t", SCHEMA).append(keyed([(1, "a", 1)]))
    io.before("rename_directory", "/t", failing(PermissionError(13, "no")))
    with pytest.raises(PermissionError):
        catalog.rename_table("db.t", "db.u")
    assert rows_of(catalog.load_table("db.t")) == [(1, "a", 1)]
    with pytest.raises(OSError, match=r"no longer listed, .* list it again with repair_table, and drop it again"):
        catalog.drop_table("db.t")
    io.calm()
    catalog.repair_table("db.t")
    catalog.drop_database("db", cascade=True)


def test_a_metastore_that_does_not_answer_is_one_line_with_its_addresses(tmp_path: Path) -> None:
    catalog = load_catalog(
        {"metastore": "hive", "uri": "thrift://127.0.0.1:1,thrift://127.0.0.1:2", "warehouse": str(tmp_path)}
    )
    with pytest.raises(MetastoreUnavailable) as refusal:
        catalog.list_databases()
    assert "thrift://127.0.0.1:1: [Errno 111] Connection refused; thrift://127.0.0.1:2:" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_the_next_server_is_tried_if_one_does_not_answer(metastore: HiveMetastore, tmp_path: Path) -> None:
    options = {"uri": f"thrift://127.0.0.1:1, {metastore.uri}", "warehouse": str(tmp_path)}
    assert "default" in load_catalog({**metastore.options, **options}).list_databases()


def test_a_connection_that_has_broken_is_replaced(warehouse: Warehouse) -> None:
    catalog = hive_of(warehouse)
    catalog.list_databases()
    pool = catalog.metastore._pool()
    for client in pool._idle:
        client.connection.close()
    assert "db" in catalog.list_databases()
    catalog.create_database("other")
    assert catalog.database_exists("other")


FORKING = """
import os, sys
from table_format import load_catalog
catalog = load_catalog({options})
catalog.create_database("forked_before")
if (child := os.fork()) == 0:
    catalog.create_database("forked_child")
    os._exit(0)
os.waitpid(child, 0)
catalog.create_database("forked_after")
print([name for name in catalog.list_databases() if name.startswith("forked")])
"""


def test_a_forked_process_leaves_the_connections_to_its_parent(warehouse: Warehouse, metastore: HiveMetastore) -> None:
    code = FORKING.format(options={**metastore.options, "warehouse": warehouse.catalog.warehouse})
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "['forked_after', 'forked_before', 'forked_child']\n", done.stderr


def test_a_catalog_is_sent_to_other_processes_which_connect_when_they_use_it(
    metastore: HiveMetastore, tmp_path: Path
) -> None:
    catalog = hive_catalog(metastore, tmp_path)
    catalog.create_database("db")
    table = catalog.create_table("db.t", SCHEMA)
    sent_catalog, sent_table = pickle.loads(pickle.dumps((catalog, table)))  # noqa: S301
    sent_table.append(keyed([(1, "a", 1)]))
    assert rows_of(sent_catalog.load_table("db.t")) == [(1, "a", 1)]
    catalog.drop_database("db", cascade=True)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({}, InvalidOption, "'uri' is required"),
        ({"uri": "http://host:9083"}, InvalidOption, "expected addresses such as 'thrift://host:9083'"),
        ({"uri": "thrift://a:1", "hadoop-conf-dir": "/etc/hadoop"}, UnsupportedFeature, "hadoop-conf-dir"),
        ({"uri": "thrift://a:1", "metastore.client.class": "com.Glue"}, UnsupportedFeature, "metastore.client.class"),
        ({"hive-conf-dir": "/nowhere"}, InvalidOption, "/nowhere/hive-site.xml cannot be read"),
    ],
)
def test_options_that_cannot_be_are_refused_by_name(
    options: dict[str, str], error: type[Exception], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HIVE_CONF_DIR", raising=False)
    with pytest.raises(error, match=words):
        load_catalog({"metastore": "hive", "warehouse": "/w", **options})


@pytest.mark.parametrize("setting", ["hive.metastore.sasl.enabled", "hive.metastore.use.SSL"])
def test_a_metastore_with_kerberos_or_tls_is_refused_by_name(tmp_path: Path, setting: str) -> None:
    write_site(tmp_path, {setting: "true"})
    options = {"metastore": "hive", "warehouse": "/w", "uri": "thrift://a:1", "hive-conf-dir": str(tmp_path)}
    with pytest.raises(UnsupportedFeature, match=f"'{setting}' is true, and (Kerberos|TLS)"):
        load_catalog(options)
