"""Which columns can have file indexes (format chapter 09, section 1; Java ``SchemaValidation.validateFileIndex``)."""

from __future__ import annotations

from table_format.errors import InvalidData, InvalidOption
from table_format.model.column_names import does_not_exist
from table_format.model.file_index import column_of, map_key_of
from table_format.model.schema import TableSchema
from table_format.model.types import DataType, MapType, TextType
from table_format.options.file_index import FileIndexOptions
from table_format.options.index_types import DECLARED_INDEXES, PREFIX, IndexDeclaration


def is_file_index_key(key: str) -> bool:
    """Whether an option is about file indexes."""
    return key.startswith(PREFIX)


def check_file_index(schema: TableSchema, options: FileIndexOptions) -> None:
    """Refuse indexes of columns that do not exist or whose type cannot have one, and settings without an index.

    Raises:
        InvalidOption: names the option, the column and its type.
    """
    for declared in DECLARED_INDEXES.values():
        columns = options.columns.get(declared.identifier, ())
        for column in columns:
            _check_column(schema, options, declared, column)
        _check_settings(options, declared, {*columns, *map(column_of, columns)})


def _check_column(schema: TableSchema, options: FileIndexOptions, declared: IndexDeclaration, column: str) -> None:
    data_type = indexed_type(schema, column, declared.columns_key)
    if not declared.supports(data_type):
        message = f"column '{column}' is {data_type}, which {declared.noun} cannot hold"
        raise InvalidOption(declared.columns_key, message)
    try:
        declared.check(options.settings_of(declared.identifier, column))
    except InvalidData as error:
        raise InvalidOption(declared.setting_key(declared.settings[-1].name, column), str(error)) from error


def _check_settings(options: FileIndexOptions, declared: IndexDeclaration, columns: set[str]) -> None:
    for setting in declared.settings:
        for column in options.stated(declared.identifier, setting.name):
            if column not in columns:
                message = f"is a setting of a column that '{declared.columns_key}' does not name; add it there"
                raise InvalidOption(declared.setting_key(setting.name, column), message)
            if setting.needs is None:
                continue
            name, value = setting.needs
            if options.settings_of(declared.identifier, column)[name] != value:
                message = f"would have no effect: it needs '{declared.setting_key(name, column)}' = {value}"
                raise InvalidOption(declared.setting_key(setting.name, column), message)


def indexed_type(schema: TableSchema, column: str, key: str) -> DataType:
    """Return the type of the indexed values of a column, or of a key of a map column.

    Raises:
        InvalidOption: the column does not exist, or is not a map with text keys.
    """
    name = column_of(column)
    if name not in schema.field_names:
        message = f"column '{name}' {does_not_exist(name, schema.field_names)}"
        raise InvalidOption(key, message)
    found = schema.field(name).type
    if map_key_of(column) is None:
        return found
    if not isinstance(found, MapType) or not isinstance(found.key, TextType):
        message = f"'{column}' takes a MAP with text as keys; column '{name}' is {found}"
        raise InvalidOption(key, message)
    return found.value
