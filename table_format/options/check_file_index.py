"""Which columns can have file indexes (format chapter 09, section 1; Java ``SchemaValidation.validateFileIndex``)."""

from __future__ import annotations

from table_format.errors import InvalidData, InvalidOption
from table_format.model.file_index import (
    DEFAULT_FPP,
    DEFAULT_ITEMS,
    bloom_size,
    column_of,
    has_fast_hash,
    map_key_of,
)
from table_format.model.schema import TableSchema
from table_format.model.types import CharType, DataType, MapType, VarCharType
from table_format.options.file_index import BLOOM_COLUMNS, BLOOM_FPP, BLOOM_ITEMS, FileIndexOptions

_PREFIX = "file-index."


def is_file_index_key(key: str) -> bool:
    """Whether an option is about file indexes."""
    return key.startswith(_PREFIX)


def check_file_index(schema: TableSchema, options: FileIndexOptions) -> None:
    """Refuse indexes over columns that are not there or whose type cannot have one, and settings of others.

    Raises:
        InvalidOption: names the option, the column and its type.
    """
    for column in options.bloom_columns:
        data_type = indexed_type(schema, column, BLOOM_COLUMNS.key)
        if not has_fast_hash(data_type):
            message = f"column '{column}' is {data_type}, which a bloom filter cannot hold"
            raise InvalidOption(BLOOM_COLUMNS.key, message)
        _check_size(column, options)
    declared = {*options.bloom_columns, *map(column_of, options.bloom_columns)}
    for pattern, settings in ((BLOOM_FPP, options.bloom_fpp), (BLOOM_ITEMS, options.bloom_items)):
        for column in settings:
            if column not in declared:
                message = f"is a setting of a column that '{BLOOM_COLUMNS.key}' does not name; add it there"
                raise InvalidOption(pattern.key.replace("<column>", column), message)


def _check_size(column: str, options: FileIndexOptions) -> None:
    settings = options.settings_of(column)
    items, fpp = settings.get("items", DEFAULT_ITEMS), settings.get("fpp", DEFAULT_FPP)
    assert isinstance(items, int) and isinstance(fpp, float)  # noqa: S101, PT018 - as the options declare them
    try:
        bloom_size(items, fpp)
    except InvalidData as error:
        raise InvalidOption(BLOOM_ITEMS.key.replace("<column>", column), str(error)) from error


def indexed_type(schema: TableSchema, column: str, key: str) -> DataType:
    """The type of the values that an index of a column, or of a key of a map column, is over.

    Raises:
        InvalidOption: there is no such column, or it is not a map with text as keys.
    """
    name = column_of(column)
    if name not in schema.field_names:
        message = f"column '{name}' does not exist; the columns are {', '.join(schema.field_names)}"
        raise InvalidOption(key, message)
    found = schema.field(name).type
    if map_key_of(column) is None:
        return found
    if not isinstance(found, MapType) or not isinstance(found.key, CharType | VarCharType):
        message = f"'{column}' takes a MAP with text as keys; column '{name}' is {found}"
        raise InvalidOption(key, message)
    return found.value
