"""Format tables as a Hive metastore keeps them: as Hive's own tables of text, Parquet or ORC (Java ``HiveTableUtils``).

A table that Paimon or this library has created has the property ``type``. One that Hive or Spark has created is read as
Hive writes it: text without quotes, in which ``\\N`` is null.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from table_format.catalog.hive.hive_table import EXTERNAL, column, is_paimon, is_view
from table_format.catalog.hive.hive_types import hive_type
from table_format.errors import InvalidSchema, UnsupportedFeature
from table_format.model.schema import Schema, TableSchema
from table_format.model.types import DataField, DataType, TimestampType, VarCharType
from table_format.options.files import PARTITION_DEFAULT_NAME, PARTITION_LEGACY_NAME
from table_format.options.format_table import (
    ESCAPE,
    FIELD_DELIMITER,
    FILE_FORMAT,
    FORMAT_TABLE,
    HEADER,
    HIVE_NULL_PARTITION,
    NULL_LITERAL,
    QUOTE,
    TYPE,
    FormatTableOptions,
    is_format_table,
)

_COMMENT: Final = "comment"
_TABLE_TYPE: Final = "table_type"
_DELIMITER: Final = "field.delim"
_DELIMITER_OF_HIVE: Final = "\x01"
_NO_CHARACTER: Final = "\0"
_TEXT_SERDE: Final = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
_CSV_SERDE: Final = "org.apache.hadoop.hive.serde2.OpenCSVSerde"
_TEXT_FORMATS: Final = (
    "org.apache.hadoop.mapred.TextInputFormat",
    "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
)
CLASSES: Final[Mapping[str, tuple[str, str, str]]] = {
    "csv": (_TEXT_SERDE, *_TEXT_FORMATS),
    "text": (_TEXT_SERDE, *_TEXT_FORMATS),
    "json": ("org.apache.hive.hcatalog.data.JsonSerDe", *_TEXT_FORMATS),
    "parquet": (
        "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
        "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
        "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
    ),
    "orc": (
        "org.apache.hadoop.hive.ql.io.orc.OrcSerde",
        "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
        "org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat",
    ),
}
"""SerDe, input and output format by file format."""
_OF_THE_METASTORE: Final = frozenset({
    _COMMENT, _TABLE_TYPE, EXTERNAL, "external.table.purge", "transient_lastDdlTime", "last_modified_by",
    "last_modified_time", "numFiles", "numFilesErasureCoded", "numPartitions", "numRows", "rawDataSize", "totalSize",
    "COLUMN_STATS_ACCURATE", "bucketing_version", "STATS_GENERATED",
})  # fmt: skip
"""Properties that the metastore itself, Hive or Spark keeps; so are those of Spark's, ``spark.sql.<...>``."""


def file_format_of(table: Any) -> str | None:  # noqa: ANN401 - a structure of Thrift
    """Return the format of the files of a table of the metastore; ``None`` if it is not one of a format table."""
    descriptor = table.sd
    if is_view(table) or is_paimon(table) or descriptor is None or descriptor.serdeInfo is None:
        return None
    if (table.parameters or {}).get("transactional", "").lower() == "true":
        return None  # files of changes, which Hive merges
    serde = (descriptor.serdeInfo.serializationLib or "").lower()
    for name in ("parquet", "orc"):
        if name in serde:
            return name
    if "Text" not in (descriptor.inputFormat or ""):
        return None
    if "json" in serde:
        return "json"
    if serde not in (_TEXT_SERDE.lower(), _CSV_SERDE.lower()):
        return None
    return "text" if (table.parameters or {}).get(_TABLE_TYPE) == "TEXT" else "csv"


def is_created_as_format_table(table: Any) -> bool:  # noqa: ANN401 - a structure of Thrift
    """Return whether Paimon or this library has created a table of the metastore as a format table."""
    return file_format_of(table) is not None and is_format_table(table.parameters or {})


def schema_of(table: Any, location: str) -> TableSchema:  # noqa: ANN401 - a structure of Thrift
    """Return the schema of a format table, with the partition columns last.

    Raises:
        UnsupportedFeature: a column has a type that this library does not have.
    """
    # The parser of types takes longer to import than the rest of the catalog.
    from table_format.catalog.hive.type_text import parse_hive_type

    name = f"{table.dbName}.{table.tableName}"
    keys = table.partitionKeys or []
    fields = tuple(
        DataField(number, found.name, parse_hive_type(found.type, f"{name}.{found.name}"), found.comment)
        for number, found in enumerate([*(table.sd.cols or []), *keys])
    )
    return TableSchema(
        id=0,
        fields=fields,
        highest_field_id=len(fields) - 1,
        partition_keys=tuple(key.name for key in keys),
        options={**_options(table), "path": location},
        comment=(table.parameters or {}).get(_COMMENT),
        time_millis=(table.createTime or 0) * 1000,
    )


def with_options_of_new_table(schema: Schema) -> Schema:
    """Return the schema of a new table with the names of partitions that Hive, Spark and Paimon read alike."""
    if not schema.partition_keys:
        return schema
    names = {PARTITION_DEFAULT_NAME.key: HIVE_NULL_PARTITION, PARTITION_LEGACY_NAME.key: "false"}
    return Schema(
        schema.fields, schema.partition_keys, schema.primary_keys, {**names, **schema.options}, schema.comment
    )


def check_columns(schema: Schema, options: FormatTableOptions) -> None:
    """Refuse columns that a Hive metastore or the files cannot hold.

    Raises:
        InvalidSchema: there is no column, or a key is wrong. UnsupportedFeature: names the column and its type.
    """
    stored = [field for field in schema.fields if field.name not in schema.partition_keys]
    if not stored:
        message = "a format table needs at least one column that is not a partition column"
        raise InvalidSchema(message)
    if schema.primary_keys:
        message = f"a format table has no primary key, found {', '.join(schema.primary_keys)}; leave it out"
        raise InvalidSchema(message)
    names = [field.name.lower() for field in schema.fields]
    if len(set(names)) < len(names):
        message = f"columns of a format table must differ in more than case, found {', '.join(names)}"
        raise InvalidSchema(message)
    for key in schema.partition_keys:
        if key.lower() not in names:
            message = f"partition column '{key}' does not exist; the columns are {', '.join(names)}"
            raise InvalidSchema(message)
    for field in schema.fields:
        _check_column(field, options, is_key=field.name in schema.partition_keys)
    if options.file_format == "text" and (len(stored) > 1 or not isinstance(stored[0].type, VarCharType)):
        message = "a format table of text files has one column, of type STRING, besides its partition columns"
        raise InvalidSchema(message)


def fill_entry(table: Any, schema: Schema, options: FormatTableOptions) -> None:  # noqa: ANN401
    """Give a new table of the metastore the columns, classes and properties of a format table, in place."""
    name, descriptor = options.file_format, table.sd
    serde, descriptor.inputFormat, descriptor.outputFormat = CLASSES[name]
    descriptor.serdeInfo.serializationLib = serde
    if name == "csv":
        # Java reads the delimiter from here alone.
        descriptor.serdeInfo.parameters = {_DELIMITER: options.field_delimiter}
    fields = {field.name: field for field in schema.fields}
    descriptor.cols = [column(field) for field in schema.fields if field.name not in schema.partition_keys]
    table.partitionKeys = [column(fields[key]) for key in schema.partition_keys]
    own = {_TABLE_TYPE: name.upper(), FILE_FORMAT.key: name, TYPE.key: FORMAT_TABLE}
    external = {key: value for key, value in table.parameters.items() if key == EXTERNAL}
    table.parameters = {**schema.options, **own, **external}
    if schema.comment is not None:
        table.parameters[_COMMENT] = schema.comment


def _options(table: Any) -> Mapping[str, str]:  # noqa: ANN401 - a structure of Thrift
    given = {
        key: value
        for key, value in (table.parameters or {}).items()
        if key not in _OF_THE_METASTORE and not key.startswith("spark.sql.")
    }
    name = file_format_of(table) or ""
    options = {**given, FILE_FORMAT.key: name}
    if not is_format_table(given):
        options = {**_options_of_hive(table, name), **options}
    if name == "csv":
        parameters = table.sd.serdeInfo.parameters or {}
        for key in FIELD_DELIMITER.fallback_keys:
            options.pop(key, None)
        default = "," if table.sd.serdeInfo.serializationLib == _CSV_SERDE else _DELIMITER_OF_HIVE
        options[FIELD_DELIMITER.key] = parameters.get(_DELIMITER) or parameters.get("separatorChar") or default
    return {**options, TYPE.key: FORMAT_TABLE}


def _options_of_hive(table: Any, file_format: str) -> Mapping[str, str]:  # noqa: ANN401 - a structure of Thrift
    """Return the options of a table that Hive or Spark has created."""
    options = {PARTITION_DEFAULT_NAME.key: HIVE_NULL_PARTITION, PARTITION_LEGACY_NAME.key: "false"}
    if file_format != "csv":
        return options
    parameters, properties = table.sd.serdeInfo.parameters or {}, table.parameters or {}
    header, footer = (properties.get(f"skip.{part}.line.count", "0").strip() for part in ("header", "footer"))
    if header not in ("0", "1") or footer != "0":
        feature = f"skip.header.line.count={header}, skip.footer.line.count={footer}"
        message = (
            f"table '{table.dbName}.{table.tableName}' skips {header} lines at the start and {footer} at the end of "
            "each file; this version skips one line at the start, or none"
        )
        raise UnsupportedFeature(feature, message)
    options[HEADER.key] = str(header == "1").lower()
    if table.sd.serdeInfo.serializationLib == _CSV_SERDE:
        options[QUOTE.key] = parameters.get("quoteChar", '"')
        options[ESCAPE.key] = parameters.get("escapeChar", "\\")
        return options
    options[QUOTE.key] = _NO_CHARACTER
    options[ESCAPE.key] = parameters.get("escape.delim", _NO_CHARACTER)
    options[NULL_LITERAL.key] = parameters.get("serialization.null.format", r"\N")
    return options


def _check_column(field: DataField, options: FormatTableOptions, *, is_key: bool) -> None:
    from table_format.catalog.hive.type_text import parse_hive_type  # as above

    where = f"column '{field.name}'"
    if field.name != field.name.lower():
        message = f"{where} is not legal: the Hive metastore ignores case; use lower-case letters"
        raise InvalidSchema(message)
    if field.default_value is not None:
        feature = "default values in a format table"
        raise UnsupportedFeature(feature, f"{where} has a default value, which a format table does not have")
    if not field.type.nullable:
        feature = "NOT NULL in a format table"
        message = f"{where} is NOT NULL, which neither a Hive metastore nor the files keep; declare it without"
        raise UnsupportedFeature(feature, message)
    kept = parse_hive_type(hive_type(field.type), where)
    # Every metastore keeps milliseconds, as Java reads them.
    if kept != field.type and not isinstance(field.type, TimestampType):
        feature = f"{field.type} in a format table"
        message = (
            f"{where} is {field.type}, which a Hive metastore keeps as {kept}; declare it so, or choose another type"
        )
        raise UnsupportedFeature(feature, message)
    if _is_nested(field.type) and (is_key or options.file_format in ("csv", "text")):
        feature = f"{field.type} in {'a partition column' if is_key else f'{options.file_format} files'}"
        message = f"{where} is {field.type}, which {feature.partition(' in ')[2]} cannot hold"
        raise UnsupportedFeature(feature, message)


def _is_nested(data_type: DataType) -> bool:
    return hive_type(data_type).endswith(">")
