"""Rows that expire by a time in a column (format chapter 07, section 8)."""

from __future__ import annotations

from dataclasses import dataclass

from table_format.errors import InvalidOption
from table_format.model.column_names import does_not_exist
from table_format.model.schema import TableSchema
from table_format.model.types import AnyTimestampType, BigIntType, DataField, IntType
from table_format.options.declare import Option
from table_format.options.values import duration, optional, text

EXPIRE_TIME = Option(
    "record-level.expire-time",
    optional(duration),
    None,
    "Age, in whole seconds, at which a row expires. A compaction drops the expired rows that it reads; until then, "
    "readers return them. A full compaction rewrites all files that have some.",
)
TIME_FIELD = Option(
    "record-level.time-field",
    optional(text),
    None,
    "Column with the time of a row: INT in seconds, BIGINT in seconds or, from 10^12 on, milliseconds, or a timestamp, "
    "which is taken as UTC. A row without a time does not expire.",
)


@dataclass(frozen=True, slots=True)
class RecordExpiryOptions:
    """When rows expire. ``expire_time_ms`` is in milliseconds."""

    expire_time_ms: int | None = EXPIRE_TIME.field()
    time_field: str | None = TIME_FIELD.field()


def time_field(schema: TableSchema, options: RecordExpiryOptions) -> DataField:
    """Return the column with the time of a row.

    Raises:
        InvalidOption: no option names it, it is missing, or it has another type.
    """
    name = options.time_field
    if name is None:
        raise InvalidOption(EXPIRE_TIME.key, f"needs '{TIME_FIELD.key}', the column with the time of a row")
    if name not in schema.field_names:
        raise InvalidOption(TIME_FIELD.key, f"column '{name}' {does_not_exist(name, schema.field_names)}")
    field = schema.field(name)
    if not isinstance(field.type, IntType | BigIntType | AnyTimestampType):
        raise InvalidOption(TIME_FIELD.key, f"column '{name}' is {field.type}; it takes INT, BIGINT or a timestamp")
    return field
