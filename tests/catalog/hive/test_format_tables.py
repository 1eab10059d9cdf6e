"""Format tables in a Hive metastore: created, listed, loaded and dropped, and those of Hive itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_format import AddColumn, FormatTable, Schema, SetOption, View, load_catalog
from table_format.catalog.hive.catalog import HiveCatalog
from table_format.catalog.hive.hive_table import new_table
from table_format.catalog.hive.metastore import thrift
from table_format.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidInputError,
    InvalidOption,
    InvalidSchema,
    TableNotFound,
    UnsupportedFeature,
)
from table_format.types import (
    ArrayType,
    DataField,
    DataType,
    IntType,
    LocalZonedTimestampType,
    TimestampType,
    TimeType,
    VarCharType,
)
from tests.support.code_blocks import code_blocks, run_block
from tests.support.hive_metastore import HiveMetastore, hive_catalog, listed, listed_partitions
from tests.support.tables import Warehouse

COLUMNS = pa.schema([("a", pa.int32()), ("b", pa.string()), ("dt", pa.string())])
FORMAT = {"type": "format-table"}
NUMBER = DataField(0, "a", IntType())
ROWS = pa.table({"a": pa.array([1, None], pa.int32()), "b": ["x,y", None], "dt": ["p", None]})
TEXT = (
    "org.apache.hadoop.mapred.TextInputFormat",
    "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
    "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
)
ORC = tuple(f"org.apache.hadoop.hive.ql.io.orc.Orc{part}" for part in ("InputFormat", "OutputFormat", "Serde"))
CSV_SERDE = "org.apache.hadoop.hive.serde2.OpenCSVSerde"


@pytest.fixture
def catalog(warehouse: Warehouse) -> HiveCatalog:
    found = warehouse.catalog
    assert isinstance(found, HiveCatalog)
    return found


def made(catalog: HiveCatalog, name: str = "db.t", *, keys: list[str] | None = None, **options: str) -> FormatTable:
    given = {**FORMAT, **{key.replace("_", "."): value for key, value in options.items()}}
    catalog.create_table(name, Schema.from_arrow(COLUMNS, partition_keys=keys, options=given, comment="a comment"))
    return opened(catalog, name)


def opened(catalog: HiveCatalog, name: str = "db.t") -> FormatTable:
    found = catalog.load_any(name)
    assert isinstance(found, FormatTable)
    return found


def of_hive(
    catalog: HiveCatalog,
    *,
    classes: tuple[str, str, str] = TEXT,
    serde: dict[str, str] | None = None,
    **properties: str,
) -> None:
    """Create ``db.h``, as Hive does, with the columns ``a`` and ``b``."""
    table = new_table("db", "h", owner="hive", seconds=1, external=False)
    table.parameters = {key.replace("_", "."): value for key, value in properties.items()}
    table.sd.cols = [thrift().FieldSchema(name, kind, None) for name, kind in (("a", "int"), ("b", "string"))]
    table.sd.inputFormat, table.sd.outputFormat, table.sd.serdeInfo.serializationLib = classes
    table.sd.serdeInfo.parameters = serde or {}
    if "transactional" in properties:  # Hive requires buckets
        table.sd.numBuckets, table.sd.bucketCols = 1, ["a"]
    table.sd.location = f"file:{catalog.warehouse}/db.db/h"
    catalog.metastore.change("create_table", table)


def rows(table: FormatTable) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in table.scan().to_arrow().to_pylist()), key=str)


@pytest.mark.parametrize("file_format", ["csv", "json", "parquet", "orc"])
def test_a_format_table_is_listed_loaded_written_read_and_dropped(
    metastore: HiveMetastore, catalog: HiveCatalog, file_format: str
) -> None:
    table = made(catalog, keys=["dt"], file_format=file_format)
    assert (table.location, table.partition_keys) == (f"{catalog.warehouse}/db.db/t", ("dt",))
    assert (table.schema.comment, table.options.file_format) == ("a comment", file_format)
    assert table.arrow_schema == COLUMNS
    assert catalog.list_tables("db") == ("t",)
    assert catalog.table_exists("db.t")
    assert not catalog.table_exists("db.t$branch_b")
    assert catalog.load_system_table("sys.tables").scan().to_arrow().num_rows == 0
    table.append(ROWS)
    assert rows(opened(catalog)) == [(1, "x,y", "p"), (None, None, None)]
    root = f"file:{catalog.warehouse}/db.db/t"
    null = "__HIVE_DEFAULT_PARTITION__"
    assert listed_partitions(metastore, "db.t") == {("p",): f"{root}/dt=p", (null,): f"{root}/dt={null}"}
    catalog.drop_table("db.t")
    assert catalog.list_tables("db") == ()
    assert catalog.io.status(table.root) is None


def test_the_entry_of_a_csv_table_is_that_of_hives_text(metastore: HiveMetastore, catalog: HiveCatalog) -> None:
    made(catalog, file_format="csv", **{"field-delimiter": ";"})
    entry = listed(metastore, "db.t")
    assert (entry.sd.inputFormat, entry.sd.outputFormat, entry.sd.serdeInfo.serializationLib) == TEXT
    assert entry.sd.serdeInfo.parameters == {"field.delim": ";"}
    own = {"type": "format-table", "file.format": "csv", "table_type": "CSV", "comment": "a comment"}
    assert own.items() <= entry.parameters.items()
    assert opened(catalog).options.field_delimiter == ";"


def test_a_directory_with_files_becomes_an_external_table_that_keeps_them(catalog: HiveCatalog) -> None:
    place = f"{catalog.warehouse}/given"
    catalog.io.create(f"{place}/dt=p/x.csv", b"1,y\n")
    table = made(catalog, keys=["dt"], file_format="csv", path=f"file:{place}")
    assert rows(table) == [(1, "y", "p")]
    catalog.drop_table("db.t")
    assert catalog.io.status(f"{place}/dt=p/x.csv") is not None


def test_a_name_that_is_taken_is_refused_and_an_existing_table_is_loaded_if_wanted(catalog: HiveCatalog) -> None:
    made(catalog, file_format="csv")
    schema = Schema.from_arrow(COLUMNS, options={**FORMAT, "file.format": "orc"})
    with pytest.raises(AlreadyExistsError, match=r"db\.t"):
        catalog.create_table("db.t", schema)
    catalog.create_table("db.t", schema, ignore_if_exists=True)
    assert opened(catalog).options.file_format == "csv"
    with pytest.raises(ConflictError, match=r"the name 'db\.t' is taken"):
        catalog.create_table("db.t", Schema.from_arrow(COLUMNS))
    catalog.create_view(View.of("db.v", (DataField(0, "a", IntType()),), "SELECT 1 AS a"))
    with pytest.raises(AlreadyExistsError, match="or a view of this name"):
        catalog.create_table("db.v", schema)
    data = catalog.create_table("db.d", Schema.from_arrow(COLUMNS))
    catalog.metastore.change("drop_table", "db", "d", False)
    with pytest.raises(ConflictError, match="holds a data table"):
        catalog.create_table("db.d", schema)
    assert data.scan().count() == 0


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (LocalZonedTimestampType(6), r"TIMESTAMP\(6\) WITH LOCAL TIME ZONE, which a Hive metastore keeps as TIMESTAMP"),
        (TimeType(), "TIME.* keeps as STRING"),
        (IntType(nullable=False), "column 'a' is NOT NULL, which neither a Hive metastore nor the files keep"),
        (ArrayType(IntType()), "column 'a' is ARRAY<INT>, which csv files cannot hold"),
    ],
)
def test_a_column_that_would_be_another_one_is_refused(catalog: HiveCatalog, kind: DataType, message: str) -> None:
    fields = (DataField(0, "a", kind), DataField(1, "b", VarCharType()))
    with pytest.raises(UnsupportedFeature, match=message):
        catalog.create_table("db.t", Schema(fields, options={**FORMAT, "file.format": "csv"}))
    assert catalog.list_tables("db") == ()


def test_a_timestamp_has_the_milliseconds_that_every_reader_of_the_metastore_sees(catalog: HiveCatalog) -> None:
    catalog.create_table("db.t", Schema((DataField(0, "at", TimestampType(6)),), options=FORMAT))
    assert opened(catalog).schema.fields[0].type == TimestampType(3)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (Schema((DataField(0, "A", IntType()),), options=FORMAT), "'A' is not legal: the Hive metastore ignores case"),
        (Schema((DataField(0, "a", IntType()),), primary_keys=("a",), options=FORMAT), "has no primary key"),
        (
            Schema((DataField(0, "a", IntType()),), ("a",), options=FORMAT),
            "at least one column that is not a partition",
        ),
        (Schema((DataField(0, "a", IntType()),), ("b",), options=FORMAT), "partition column 'b' does not exist"),
        (
            Schema((DataField(0, "a", IntType()),), options={**FORMAT, "file.format": "text"}),
            "one column, of type STRING",
        ),
    ],
)
def test_a_schema_that_no_format_table_has_is_refused(catalog: HiveCatalog, schema: Schema, message: str) -> None:
    with pytest.raises(InvalidSchema, match=message):
        catalog.create_table("db.t", schema)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bucket": "1"}, "'bucket' is not an option of a format table"),
        ({"csv.field-delimitre": ";"}, "did you mean 'csv.field-delimiter'"),
        ({"json.ignore-parse-errors": "true"}, "has no effect on a format table of csv files"),
        ({"field-delimiter": "||"}, "takes one ASCII character"),
        ({"quote": ","}, "is the same as the field delimiter"),
        ({"csv.null-literal": r"\N"}, "set 'csv.quote-character' or 'csv.escape-character' to another character"),
        ({"csv.line-delimiter": "|"}, r"'csv\.line-delimiter' = '\|' is not supported"),
        ({"format-table.commit-hive-sync-url": "thrift://x"}, "is not supported"),
        ({"file.format": "avro"}, "'avro' is not a legal value"),
        ({"file.compression": "zstd"}, "'zstd' is not supported"),
    ],
)
def test_an_option_without_effect_or_meaning_is_refused(
    catalog: HiveCatalog, options: dict[str, str], message: str
) -> None:
    given = {**FORMAT, "file.format": "csv", **options}
    with pytest.raises((InvalidOption, UnsupportedFeature), match=message):
        catalog.create_table("db.t", Schema.from_arrow(COLUMNS, options=given))


def test_other_catalogs_say_which_one_has_format_tables(tmp_path: Path) -> None:
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    with pytest.raises(UnsupportedFeature, match=r"'db\.t' cannot be a format table: only a catalog in a Hive"):
        catalog.create_table("db.t", Schema.from_arrow(COLUMNS, options=FORMAT))


def test_what_only_data_tables_have_is_refused(catalog: HiveCatalog) -> None:
    made(catalog, file_format="csv")
    for operation in (
        lambda: catalog.alter_table("db.t", AddColumn("c", IntType())),
        lambda: catalog.alter_table("db.t", SetOption("csv.mode", "failfast")),
        lambda: catalog.rename_table("db.t", "db.u"),
        lambda: catalog.load_any("db.t$snapshots"),
        lambda: catalog.load_any("db.t$branch_b"),
    ):
        with pytest.raises(UnsupportedFeature, match=r"'db\.t' is a format table"):
            operation()
    with pytest.raises(InvalidInputError, match="is not a system table"):
        catalog.load_system_table("db.t")


def test_a_database_is_dropped_with_its_format_tables_but_not_with_tables_that_hive_has_created(
    catalog: HiveCatalog,
) -> None:
    made(catalog, file_format="csv").append(ROWS)
    of_hive(catalog)
    with pytest.raises(InvalidInputError, match="it has h, t; drop them"):
        catalog.drop_database("db")
    with pytest.raises(InvalidInputError, match="h are tables of Hive or Spark; drop each by its name"):
        catalog.drop_database("db", cascade=True)
    assert rows(opened(catalog)) == [(1, "x,y", "p"), (None, None, None)]
    catalog.drop_table("db.h")
    catalog.drop_database("db", cascade=True)
    assert not catalog.database_exists("db")
    assert catalog.io.status(f"{catalog.warehouse}/db.db") is None


def test_a_table_of_hive_is_read_and_written_as_hive_does(catalog: HiveCatalog) -> None:
    of_hive(catalog, numFiles="1")
    catalog.io.create(f"{catalog.warehouse}/db.db/h/000000_0", b'1\x01"x\\y\n\\N\x01\\N\n')
    table = opened(catalog, "db.h")
    assert rows(table) == [(1, '"x\\y'), (None, None)]
    assert "numFiles" not in table.schema.options
    table.append(pa.table({"a": pa.array([2], pa.int32()), "b": [","]}))
    assert rows(table) == [(1, '"x\\y'), (2, ","), (None, None)]


def test_the_properties_of_a_table_of_hive_are_honoured(catalog: HiveCatalog) -> None:
    given = {"field.delim": "|", "serialization.null.format": "-", "escape.delim": "\\"}
    of_hive(catalog, serde=given, **{"skip.header.line.count": "1"})
    catalog.io.create(f"{catalog.warehouse}/db.db/h/x", b"a|b\n1|x\\|y\n-|-\n")
    assert rows(opened(catalog, "db.h")) == [(1, "x|y"), (None, None)]
    catalog.drop_table("db.h")
    of_hive(catalog, classes=(*TEXT[:2], CSV_SERDE), serde={"separatorChar": "\t", "quoteChar": "'"})
    catalog.io.create(f"{catalog.warehouse}/db.db/h/x", b"1\t'x\ty'\n")
    assert rows(opened(catalog, "db.h")) == [(1, "x\ty")]
    catalog.drop_table("db.h")
    of_hive(catalog, **{"skip.footer.line.count": "1"})
    with pytest.raises(UnsupportedFeature, match=r"table 'db\.h' skips 0 lines at the start and 1 at the end"):
        opened(catalog, "db.h")


@pytest.mark.parametrize(
    ("classes", "properties"),
    [
        ((*TEXT[:2], "org.apache.hadoop.hive.serde2.RegexSerDe"), {}),
        (("org.apache.hadoop.mapred.SequenceFileInputFormat", *TEXT[1:]), {}),
        (ORC, {"transactional": "true"}),
    ],
)
def test_a_table_of_hive_with_other_files_is_not_a_table_of_the_catalog(
    catalog: HiveCatalog, classes: tuple[str, str, str], properties: dict[str, str]
) -> None:
    of_hive(catalog, classes=classes, **properties)
    assert catalog.list_tables("db") == ()
    with pytest.raises(TableNotFound, match=r"'db\.h' is a table of Hive with the input format"):
        catalog.load_any("db.h")
    with pytest.raises(TableNotFound, match=r"'db\.h' is a table of Hive with the input format"):
        catalog.drop_table("db.h")


def test_format_tables_can_be_turned_off(metastore: HiveMetastore, tmp_path: Path, catalog: HiveCatalog) -> None:
    made(catalog, file_format="csv")
    off = hive_catalog(metastore, tmp_path, catalog.io, **{"format-table.enabled": "false"})
    assert off.list_tables("db") == ()
    assert not off.table_exists("db.t")
    with pytest.raises(TableNotFound, match=r"format tables are off in this catalog: set 'format-table\.enabled'"):
        off.load_any("db.t")
    with pytest.raises(TableNotFound):
        off.drop_table("db.t")
    with pytest.raises(InvalidInputError, match="t are tables of Hive or Spark"):
        off.drop_database("db", cascade=True)
    with pytest.raises(UnsupportedFeature, match="format tables are off"):
        off.create_table("db.u", Schema.from_arrow(COLUMNS, options=FORMAT))


def test_a_warehouse_of_external_tables_keeps_the_files_of_format_tables(
    metastore: HiveMetastore, tmp_path: Path, catalog: HiveCatalog
) -> None:
    external = hive_catalog(metastore, tmp_path, catalog.io, **{"table.type": "external"})
    table = made(external, file_format="csv")
    (path,) = table.append(ROWS)
    external.drop_table("db.t")
    assert catalog.io.status(path) is not None


def test_the_examples_of_the_page_print_what_it_shows(capsys: pytest.CaptureFixture[str], catalog: HiveCatalog) -> None:
    catalog.create_database("shop")
    page = (Path(__file__).parents[3] / "docs" / "format-tables.md").read_text()
    (example,), (shown,) = (code_blocks(page, language) for language in ("python", "text"))
    run_block(example, {"catalog": catalog})
    assert capsys.readouterr().out == shown
