"""Which columns, keys and partitions a table may have (format chapter 02, sections 4 and 5).

Java ``SchemaValidation`` and ``Schema.normalizeFields``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from table_format.errors import InvalidOption, InvalidSchema
from table_format.limits import MAX_COLUMNS, MAX_NAME_BYTES
from table_format.model.column_names import does_not_exist
from table_format.model.default_values import default_of
from table_format.model.row_kind import ROW_KIND_COLUMN
from table_format.model.schema import KEY_FIELD_PREFIX, SYSTEM_FIELD_NAMES, TableSchema
from table_format.model.types import (
    NESTED,
    AnyTimestampType,
    BigIntType,
    BytesType,
    DataField,
    IntType,
    RowType,
    TextType,
    types_in,
)
from table_format.options.bucket import BUCKET_FUNCTION, BUCKET_KEY
from table_format.options.bucket_mode import Fixed, Postponed, bucket_mode, check_cross_partition_mode
from table_format.options.files import PARTITION_LEGACY_NAME
from table_format.options.merge import IGNORE_DELETE, MERGE_ENGINE, ROWKIND_FIELD, SEQUENCE_FIELDS, MergeEngine
from table_format.options.table_options import TableOptions

_KIND_LENGTH: Final = 2
"""Of +I, -U, +U and -D."""


def check_schema(schema: TableSchema) -> None:
    """Refuse columns, keys or partitions that no table can have.

    Raises:
        InvalidSchema: names the column or key and what is wrong with it.
        InvalidOption: an option names columns that do not fit.
        UnsupportedFeature: the table needs a feature that this version does not support.
    """
    _check_columns(schema.fields)
    options = TableOptions.parse(schema.options)
    _check_partition(schema, options)
    _check_primary_key(schema)
    _check_column_options(schema, options)


def _check_columns(fields: Sequence[DataField]) -> None:
    if not fields:
        message = "a table needs at least one column"
        raise InvalidSchema(message)
    if len(fields) > MAX_COLUMNS:
        message = f"{len(fields)} columns are more than {MAX_COLUMNS}"
        raise InvalidSchema(message)
    for field in fields:
        _check_name(field.name)
        default_of(field)
        for part in types_in(field.type):
            if isinstance(part, RowType):
                _check_unique((f.name for f in part.fields), f"ROW of column '{field.name}'")
    _check_unique((f.name for f in fields), "table")


def _check_name(name: str) -> None:
    problem = None
    if not name.strip():
        problem = "it is blank"
    elif len(name.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES:
        problem = f"it is longer than {MAX_NAME_BYTES} bytes"
    elif any(ord(c) < 32 or 0xD800 <= ord(c) < 0xE000 for c in name):
        problem = "it holds a control character"
    elif name in SYSTEM_FIELD_NAMES or name == ROW_KIND_COLUMN:
        problem = "the format reserves this name"
    elif name.startswith(KEY_FIELD_PREFIX):
        problem = f"names beginning with {KEY_FIELD_PREFIX} are reserved by the format"
    if problem:
        message = f"column name {name!r} is not legal: {problem}"
        raise InvalidSchema(message)


def _check_unique(names: Iterable[str], where: str) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        message = f"the {where} has more than one column named {', '.join(map(repr, twice))}"
        raise InvalidSchema(message)


def _check_members(schema: TableSchema, keys: Sequence[str], what: str) -> None:
    _check_unique(keys, what)
    for key in keys:
        if key not in schema.field_names:
            message = f"{what} column '{key}' {does_not_exist(key, schema.field_names)}"
            raise InvalidSchema(message)
        if isinstance(schema.field(key).type, NESTED):
            message = f"{what} column '{key}' is {schema.field(key).type}; it takes a type without parts"
            raise InvalidSchema(message)


def _check_partition(schema: TableSchema, options: TableOptions) -> None:
    _check_members(schema, schema.partition_keys, "partition")
    for key in schema.partition_keys:
        if isinstance(schema.field(key).type, BytesType) and options.files.partition_legacy_name:
            message = (
                f"partition column '{key}' is {schema.field(key).type}, whose directories get a different name in "
                f"each process of the reference; set '{PARTITION_LEGACY_NAME.key}' = 'false' to name them by "
                "their bytes"
            )
            raise InvalidSchema(message)
    if schema.partition_keys and len(schema.partition_keys) == len(schema.fields):
        message = "every column is a partition column; a table needs a column besides them"
        raise InvalidSchema(message)


def _check_primary_key(schema: TableSchema) -> None:
    if not schema.primary_keys:
        return
    _check_members(schema, schema.primary_keys, "primary key")
    for key in schema.primary_keys:
        if schema.field(key).type.nullable:
            message = f"primary key column '{key}' is nullable; a key column is NOT NULL"
            raise InvalidSchema(message)
    if not schema.trimmed_primary_keys:
        message = (
            f"the primary key {', '.join(schema.primary_keys)} holds partition columns only; "
            "each partition would have one row, so add a column"
        )
        raise InvalidSchema(message)


def check_cross_partition(schema: TableSchema, options: TableOptions) -> None:
    """Refuse options that do not work if a key may move between partitions.

    Raises:
        InvalidOption: names the option.
    """
    if not schema.is_cross_partition:
        return
    check_cross_partition_mode(schema, options.bucket)
    if options.merge.sequence_fields:
        message = (
            "does not work with a primary key that lacks partition columns: of two rows in different partitions, "
            "the later one always wins"
        )
        raise InvalidOption(SEQUENCE_FIELDS.key, message)
    if options.merge.ignore_delete and options.merge.engine is MergeEngine.DEDUPLICATE:
        message = (
            f"does not work with '{MERGE_ENGINE.key}' = deduplicate and a primary key that lacks partition columns: a "
            "key that moves to another partition is deleted in its old one, and with this option it would stay in both"
        )
        raise InvalidOption(IGNORE_DELETE.key, message)


def _check_column_options(schema: TableSchema, options: TableOptions) -> None:
    check_cross_partition(schema, options)
    for column in options.bucket.key:
        _check_bucket_key(schema, column)
    _check_bucket_function(schema, options)
    for column in options.merge.sequence_fields:
        if isinstance(schema.field(column).type, NESTED):
            message = f"column '{column}' is {schema.field(column).type}, which has no order"
            raise InvalidOption(SEQUENCE_FIELDS.key, message)
    rowkind = options.merge.rowkind_field
    if rowkind is None:
        return
    kinds = schema.field(rowkind).type
    if not isinstance(kinds, TextType):
        message = f"column '{rowkind}' is {kinds}; it takes a STRING column"
        raise InvalidOption(ROWKIND_FIELD.key, message)
    if kinds.length < _KIND_LENGTH:
        message = f"column '{rowkind}' is {kinds}, which no row kind fits into: they have {_KIND_LENGTH} characters"
        raise InvalidOption(ROWKIND_FIELD.key, message)


def _check_bucket_function(schema: TableSchema, options: TableOptions) -> None:
    if not isinstance(bucket_mode(schema, options.bucket), Fixed | Postponed) or options.bucket.function == "default":
        return
    fields = schema.select(schema.bucket_keys)
    shown = ", ".join(f"'{f.name}' {f.type}" for f in fields)
    if options.bucket.function == "mod" and not (len(fields) == 1 and isinstance(fields[0].type, IntType | BigIntType)):
        raise InvalidOption(BUCKET_FUNCTION.key, f"'mod' takes one INT or BIGINT column as bucket key, found {shown}")
    if options.bucket.function == "hive" and any(isinstance(f.type, AnyTimestampType) for f in fields):
        raise InvalidOption(BUCKET_FUNCTION.key, f"'hive' has no hash for timestamps, found {shown}")


def _check_bucket_key(schema: TableSchema, column: str) -> None:
    problem = None
    if column not in schema.field_names:
        problem = does_not_exist(column, schema.field_names)
    elif column in schema.partition_keys:
        problem = "is a partition column; a bucket is inside a partition"
    elif schema.primary_keys and column not in schema.primary_keys:
        problem = f"is not in the primary key {', '.join(schema.primary_keys)}; one key must have one bucket"
    elif isinstance(schema.field(column).type, NESTED):
        problem = f"is {schema.field(column).type}; it takes a type without parts"
    if problem:
        message = f"column '{column}' {problem}"
        raise InvalidOption(BUCKET_KEY.key, message)
