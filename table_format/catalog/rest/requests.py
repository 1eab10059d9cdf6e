"""What a REST server is sent: schemas, changes of them, changes of views (Java ``org.apache.paimon.rest.requests``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from table_format.catalog.table_names import TableName
from table_format.codecs.type_json import field_json, type_json
from table_format.errors import UnsupportedFeature
from table_format.io.table_server import PartitionChange
from table_format.model.schema import TableSchema
from table_format.model.schema_change import (
    AddColumn,
    AlterColumnType,
    ColumnPath,
    DropColumn,
    MoveColumn,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetColumnComment,
    SetColumnDefault,
    SetComment,
    SetNullability,
    SetOption,
    column_path,
)
from table_format.model.view import View


def identifier_json(name: TableName) -> Mapping[str, object]:
    """Return a name as the server reads it."""
    return {"database": name.database, "object": name.table}


def schema_json(schema: TableSchema) -> Mapping[str, object]:
    """Return the schema of a new table."""
    return {
        "fields": [field_json(field) for field in schema.fields],
        "partitionKeys": list(schema.partition_keys),
        "primaryKeys": list(schema.primary_keys),
        "options": dict(schema.options),
        "comment": schema.comment,
    }


def partition_json(change: PartitionChange) -> Mapping[str, object]:
    """Return what a commit changes in a partition."""
    return {
        "spec": dict(change.values),
        "recordCount": change.row_count,
        "fileSizeInBytes": change.bytes,
        "fileCount": change.file_count,
        "lastFileCreationTime": change.last_creation_ms,
        "totalBuckets": change.total_buckets,
    }


def schema_change_json(change: SchemaChange) -> Mapping[str, object]:
    """Return a change of a schema."""
    match change:
        case SetOption(key, value):
            return {"action": "setOption", "key": key, "value": value}
        case RemoveOption(key):
            return {"action": "removeOption", "key": key}
        case SetComment(comment):
            return {"action": "updateComment", "comment": comment}
        case AddColumn(name, data_type, comment, after, first):
            move = _move(column_path(name)[-1], after, first=first) if first or after is not None else None
            given = {"dataType": type_json(data_type), "comment": comment, "move": move}
            return {"action": "addColumn", "fieldNames": list(column_path(name)), **given}
        case DropColumn(name):
            return {"action": "dropColumn", "fieldNames": list(column_path(name))}
        case RenameColumn(name, new_name):
            return {"action": "renameColumn", "fieldNames": list(column_path(name)), "newName": new_name}
        case AlterColumnType(name, data_type):
            names, new_type = list(column_path(name)), type_json(data_type)
            return {"action": "updateColumnType", "fieldNames": names, "newDataType": new_type, "keepNullability": True}
        case SetNullability(name, nullable):
            names = list(column_path(name))
            return {"action": "updateColumnNullability", "fieldNames": names, "newNullability": nullable}
        case SetColumnComment(name, comment):
            return {"action": "updateColumnComment", "fieldNames": list(column_path(name)), "newComment": comment}
        case SetColumnDefault(name, default):
            names = list(column_path(name))
            return {"action": "updateColumnDefaultValue", "fieldNames": names, "newDefaultValue": default}
        case MoveColumn(name, after, first):
            return {"action": "updateColumnPosition", "move": _move(_top_level(name), after, first=first)}


def view_changes_json(before: View, after: View) -> Iterator[Mapping[str, object]]:
    """Yield the changes that make one view of another of the same name."""
    for key in sorted(before.options.keys() - after.options.keys()):
        yield {"action": "removeOption", "key": key}
    for key, value in after.options.items():
        if before.options.get(key) != value:
            yield {"action": "setOption", "key": key, "value": value}
    if before.comment != after.comment:
        yield {"action": "updateComment", "comment": after.comment}
    for dialect in sorted(before.dialects.keys() - after.dialects.keys()):
        yield {"action": "dropDialect", "dialect": dialect}
    for dialect, query in after.dialects.items():
        if before.dialects.get(dialect) != query:
            action = "updateDialect" if dialect in before.dialects else "addDialect"
            yield {"action": action, "dialect": dialect, "query": query}


def _move(name: str, after: str | None, *, first: bool) -> Mapping[str, object]:
    place = "FIRST" if first else "LAST" if after is None else "AFTER"
    return {"fieldName": name, "referenceFieldName": after, "type": place}


def _top_level(name: ColumnPath) -> str:
    path = column_path(name)
    if len(path) == 1:
        return path[0]
    feature = "moving a nested column in a REST catalog"
    message = f"column '{'.'.join(path)}' cannot be moved: a REST catalog moves only columns of the table itself"
    raise UnsupportedFeature(feature, message)
