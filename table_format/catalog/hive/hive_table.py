"""A table as the Hive metastore keeps it: columns, classes and properties (Java ``HiveCatalog``).

The functions make and change structures of Thrift, which exist for one call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from table_format.catalog.copied_options import copied_options
from table_format.catalog.hive.hive_types import hive_type
from table_format.catalog.hive.metastore import thrift
from table_format.catalog.table_names import TableName
from table_format.model.schema import TableSchema
from table_format.model.types import DataField
from table_format.model.view import View
from table_format.options.files import PATH_DIRECTORY
from table_format.options.partitions import PARTITIONED_IN_METASTORE

EXTERNAL: Final = "EXTERNAL"
_EXTERNAL_TABLE: Final = "EXTERNAL_TABLE"
_VIEW: Final = "VIRTUAL_VIEW"
_PURGE: Final = "external.table.purge"
_INPUT_FORMAT: Final = "org.apache.paimon.hive.mapred.PaimonInputFormat"
_OUTPUT_FORMAT: Final = "org.apache.paimon.hive.mapred.PaimonOutputFormat"
_SERDE: Final = "org.apache.paimon.hive.PaimonSerDe"
_OF_ALL_TABLES: Final = {"table_type": "PAIMON", "storage_handler": "org.apache.paimon.hive.PaimonStorageHandler"}
_ALWAYS_COPIED: Final = ("partition.expiration-time", PATH_DIRECTORY.key)
_COMMENT: Final = "comment"
_TAGS_AS_PARTITIONS: Final = "metastore.tag-to-partition"
_KEY_LENGTH: Final = 256
_VALUE_LENGTH: Final = 4000
_COMMENT_LENGTH: Final = 255
"""Letters of the columns of the metastore's own database."""
_RETENTION: Final = 2_147_483_647


def is_paimon(table: Any) -> bool:  # noqa: ANN401 - a structure of Thrift
    """Return whether a table of the metastore is one of this format."""
    descriptor = table.sd
    return descriptor is not None and (descriptor.inputFormat, descriptor.outputFormat) == (
        _INPUT_FORMAT,
        _OUTPUT_FORMAT,
    )


def is_listed_as_external(table: Any) -> bool:  # noqa: ANN401 - a structure of Thrift
    """Return whether the metastore lists a table as external. Hive 4 does so with each, and moves some itself."""
    return bool(table.tableType == _EXTERNAL_TABLE)


def is_external(table: Any) -> bool:  # noqa: ANN401 - a structure of Thrift
    """Return whether the files of a table stay when it is dropped."""
    return is_listed_as_external(table) and (table.parameters or {}).get(_PURGE, "").lower() != "true"


def is_view(table: Any) -> bool:  # noqa: ANN401 - a structure of Thrift
    """Return whether an entry of the metastore is a view; ``False`` for ``None``."""
    return table is not None and bool(table.tableType == _VIEW)


def described(table: Any) -> str:  # noqa: ANN401 - a structure of Thrift
    """Return what a table of another format is, in words."""
    if is_view(table):
        return "a view"
    return f"a table of Hive with the input format {table.sd.inputFormat if table.sd else None}"


def new_table(database: str, name: str, *, owner: str, seconds: int, external: bool) -> Any:  # noqa: ANN401
    """Return a table without columns and location. ``seconds`` is the time since 1970."""
    api = thrift()
    table = api.Table(
        tableName=name,
        dbName=database,
        owner=owner,
        createTime=seconds,
        lastAccessTime=seconds,
        retention=_RETENTION,
        sd=api.StorageDescriptor(
            cols=[],
            compressed=False,
            numBuckets=0,
            serdeInfo=api.SerDeInfo(parameters={}),
            bucketCols=[],
            sortCols=[],
            parameters={},
        ),
        partitionKeys=[],
        parameters=dict(_OF_ALL_TABLES),
        tableType=_EXTERNAL_TABLE if external else "MANAGED_TABLE",
    )
    if external:
        table.parameters[EXTERNAL] = "TRUE"
    return table


def new_view(name: TableName, view: View, *, owner: str, seconds: int) -> Any:  # noqa: ANN401
    """Return a view. ``seconds`` is the time since 1970."""
    table = new_table(name.database, name.table, owner=owner, seconds=seconds, external=False)
    table.tableType = _VIEW
    set_view(table, view)
    return table


def set_view(table: Any, view: View) -> None:  # noqa: ANN401 - a structure of Thrift
    """Give a view of the metastore the columns, text, comment and options of a view, in place."""
    table.sd.cols = [column(field) for field in view.fields]
    table.viewOriginalText = table.viewExpandedText = view.query
    table.parameters = dict(view.options)
    if view.comment is not None:
        table.parameters[_COMMENT] = view.comment


def set_schema(table: Any, schema: TableSchema, *, earlier: Iterable[TableSchema], copies_all: bool) -> None:  # noqa: ANN401
    """Give a table the columns, options and comment of a schema, in place.

    Options of ``earlier`` schemas that this one does not have are removed. Without ``copies_all``, only options that
    the metastore needs are copied.
    """
    descriptor = table.sd
    descriptor.inputFormat, descriptor.outputFormat = _INPUT_FORMAT, _OUTPUT_FORMAT
    descriptor.serdeInfo.serializationLib = _SERDE
    keys = schema.partition_keys if is_partitioned(schema) else ()
    descriptor.cols = [column(field) for field in schema.fields if field.name not in keys]
    if _TAGS_AS_PARTITIONS not in schema.options:  # Java's, which this version does not write
        table.partitionKeys = [_partition_key(schema.field(key)) for key in keys]
    copied = _copied(schema, copies_all=copies_all)
    for old in earlier:
        for key in _copied(old, copies_all=copies_all):
            table.parameters.pop(key, None)
    table.parameters.update({**copied, **_OF_ALL_TABLES})
    table.parameters.pop(_COMMENT, None)
    if schema.comment is not None:
        table.parameters[_COMMENT] = schema.comment[:_VALUE_LENGTH]


def is_partitioned(schema: TableSchema) -> bool:
    """Return whether the metastore knows the partitions of a table."""
    return bool(schema.partition_keys) and PARTITIONED_IN_METASTORE.read(schema.options)


def shows(table: Any, wanted: Any) -> bool:  # noqa: ANN401 - structures of Thrift
    """Return whether a table already has the columns and properties of the wanted one."""
    return (table.sd.cols, table.partitionKeys, table.parameters) == (
        wanted.sd.cols,
        wanted.partitionKeys,
        wanted.parameters,
    )


def _copied(schema: TableSchema, *, copies_all: bool) -> Mapping[str, str]:
    copies = copied_options(schema, key_length=_KEY_LENGTH, value_length=_VALUE_LENGTH)
    return copies if copies_all else {key: copies[key] for key in _ALWAYS_COPIED if key in copies}


def column(field: DataField) -> Any:  # noqa: ANN401 - a structure of Thrift
    """Return a column, whose comment is shortened to what the metastore keeps."""
    comment = field.description
    if comment is not None:
        comment = comment.replace("\n", " ").replace("\r", " ")
        if len(comment) > _COMMENT_LENGTH:
            comment = f"{comment[: _COMMENT_LENGTH - 3]}..."
    return thrift().FieldSchema(field.name, hive_type(field.type), comment)


def _partition_key(field: DataField) -> Any:  # noqa: ANN401 - a structure of Thrift
    return thrift().FieldSchema(field.name, hive_type(field.type), field.description)
