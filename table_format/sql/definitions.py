"""Writes tables and types as SQL. Running the text creates an equal table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from table_format.model.default_values import default_of
from table_format.model.schema import TableSchema
from table_format.model.types import (
    MAX_LENGTH,
    ArrayType,
    DataField,
    DataType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    VarBinaryType,
    VarCharType,
)
from table_format.model.view import View
from table_format.options.kind import TYPE, is_materialized_table
from table_format.options.materialized import (
    AUTOMATIC,
    DEFINITION_QUERY,
    LOGICAL_REFRESH_MODE,
    OF_THE_QUERY,
    freshness_text,
)
from table_format.secrets import shown_options
from table_format.sql.default_values import default_sql
from table_format.sql.splices import quoted, text_literal

_SPARK_PRECISION = 6
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""A name that needs no quotes."""


def create_table_sql(name: str, schema: TableSchema) -> str:
    """Return the CREATE TABLE statement of a table ``database.table``, or CREATE MATERIALIZED TABLE."""
    if is_materialized_table(schema.options):
        return _create_materialized_table_sql(name, schema)
    columns = ",\n  ".join(_column(field) for field in schema.fields)
    shown = ".".join(map(_shown_name, name.split(".")))
    parts = [f"CREATE TABLE {shown} (\n  {columns})", "USING paimon"]
    if schema.partition_keys:
        parts.append(f"PARTITIONED BY ({', '.join(map(quoted, schema.partition_keys))})")
    if schema.comment is not None:
        parts.append(f"COMMENT {text_literal(schema.comment)}")
    options = shown_options(schema.options)
    if schema.primary_keys:
        options["primary-key"] = ",".join(schema.primary_keys)
    if options:
        pairs = (f"{text_literal(key)} = {text_literal(value)}" for key, value in sorted(options.items()))
        parts.append("TBLPROPERTIES (\n  " + ",\n  ".join(pairs) + ")")
    return "\n".join(parts) + "\n"


def _create_materialized_table_sql(name: str, schema: TableSchema) -> str:
    parts = [f"CREATE MATERIALIZED TABLE {'.'.join(map(_shown_name, name.split('.')))}"]
    if schema.primary_keys:
        parts[0] += f" (PRIMARY KEY ({', '.join(map(quoted, schema.primary_keys))}) NOT ENFORCED)"
    if schema.comment is not None:
        parts.append(f"COMMENT {text_literal(schema.comment)}")
    if schema.partition_keys:
        parts.append(f"PARTITIONED BY ({', '.join(map(quoted, schema.partition_keys))})")
    shown = shown_options(schema.options)
    own = {option.key for option in (TYPE, *OF_THE_QUERY)}
    if pairs := [(key, value) for key, value in sorted(shown.items()) if key not in own]:
        listed = ",\n  ".join(f"{text_literal(key)} = {text_literal(value)}" for key, value in pairs)
        parts.append(f"TBLPROPERTIES (\n  {listed})")
    parts.append(f"FRESHNESS = {freshness_text(schema.options)}")
    mode = LOGICAL_REFRESH_MODE.read(schema.options) or AUTOMATIC
    if mode != AUTOMATIC:
        parts.append(f"REFRESH_MODE = {mode.upper()}")
    return "\n".join([*parts, "AS", shown.get(DEFINITION_QUERY.key, "")]) + "\n"


def create_view_sql(view: View, text: str) -> str:
    """Return the CREATE VIEW statement of a view whose query has this text."""
    shown = ".".join(map(_shown_name, (view.identifier.database, view.identifier.table)))
    parts = [f"CREATE VIEW {shown}"]
    if view.fields:
        parts[0] += " (\n  " + ",\n  ".join(map(_view_column, view.fields)) + ")"
    if view.comment is not None:
        parts.append(f"COMMENT {text_literal(view.comment)}")
    if view.options:
        options = sorted(shown_options(view.options).items())
        pairs = (f"{text_literal(key)} = {text_literal(value)}" for key, value in options)
        parts.append("TBLPROPERTIES (\n  " + ",\n  ".join(pairs) + ")")
    return "\n".join([*parts, "AS", text]) + "\n"


def _view_column(field: DataField) -> str:
    comment = "" if field.description is None else f" COMMENT {text_literal(field.description)}"
    return f"{_shown_name(field.name)}{comment}"


def _shown_name(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else quoted(name)


def default_literal(field: DataField) -> str:
    """Return the default value of a column as a Spark expression, or NULL if it has none.

    >>> default_literal(DataField(0, "a", VarCharType(), default_value="'x'"))
    "CAST('x' AS STRING)"

    Raises:
        InvalidSchema: the default is not a value of the type.
    """
    default = default_of(field)
    if default is None:
        return "NULL"
    return _literal(default.as_py(), field.type)


def _literal(value: Any, data_type: DataType) -> str:  # noqa: ANN401 - a value of the type
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    match data_type:
        case _ if value is None:
            text = "NULL"
        case ArrayType(element=element):
            text = f"array({', '.join(_literal(part, element) for part in value)})"
        case MapType(key=key, value=of_value):
            text = f"map({', '.join(f'{_literal(k, key)}, {_literal(v, of_value)}' for k, v in value)})"
        case RowType(fields=fields):
            parts = (f"{text_literal(f.name)}, {_literal(value[f.name], f.type)}" for f in fields)
            text = f"named_struct({', '.join(parts)})"
        case _:
            text = text_literal(str(value))
    return f"CAST({text} AS {type_sql(data_type.with_nullable(True))})"


def type_sql(data_type: DataType) -> str:
    """Return a type in the syntax of Spark if Spark has it, with NOT NULL if it admits no nulls."""
    return _type(data_type) + ("" if data_type.nullable else " NOT NULL")


def _type(data_type: DataType) -> str:
    match data_type:
        case VarCharType(length=length) if length == MAX_LENGTH:
            return "STRING"
        case VarBinaryType(length=length) if length == MAX_LENGTH:
            return "BINARY"
        case LocalZonedTimestampType(precision=precision):
            return "TIMESTAMP" if precision == _SPARK_PRECISION else f"TIMESTAMP_LTZ({precision})"
        case TimestampType(precision=precision):
            return "TIMESTAMP_NTZ" if precision == _SPARK_PRECISION else f"TIMESTAMP({precision})"
        case ArrayType(element=element):
            return f"ARRAY<{type_sql(element)}>"
        case MultisetType(element=element):
            return f"MULTISET<{type_sql(element)}>"
        case MapType(key=key, value=value):
            return f"MAP<{_type(key)}, {type_sql(value)}>"
        case RowType(fields=fields):
            return f"STRUCT<{_fields(fields)}>"
    return str(data_type.with_nullable(True))


def _fields(fields: Sequence[DataField]) -> str:
    return ", ".join(f"{quoted(field.name)}: {type_sql(field.type)}{_comment(field)}" for field in fields)


def _column(field: DataField) -> str:
    return f"{quoted(field.name)} {type_sql(field.type)}{_default(field)}{_comment(field)}"


def _default(field: DataField) -> str:
    return "" if field.default_value is None else f" DEFAULT {default_sql(field)}"


def _comment(field: DataField) -> str:
    return "" if field.description is None else f" COMMENT {text_literal(field.description)}"
