"""Options whose key or value names columns (format chapter 13; Java ``applyRenameColumnsToOptions``)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from table_format.model.file_index import column_of
from table_format.model.schema import TableSchema

_LISTS: Final = ("bucket-key", "sequence.field", "partial-update.remove-record-on-sequence-group")
"""Options whose value is a list of columns."""

_SINGLE: Final = ("rowkind.field", "record-level.time-field")
_FIELDS: Final = "fields."
_LIST_SUFFIXES: Final = (".sequence-group",)
"""``fields.<columns>.<suffix>``: key and value are lists of columns. (A nested key names fields within its column.)"""

_INDEX_PREFIX: Final = "file-index."
_INDEX_COLUMNS: Final = ".columns"

_PASSING_NAME: Final = "\0{}"
"""A temporary name that no column has, because columns may have swapped their names."""


def columns_bound_by_options(options: Mapping[str, str]) -> Mapping[str, str]:
    """Return the columns that options name, each with the key of its option.

    >>> dict(columns_bound_by_options({"sequence.field": "ts, n", "fields.n.aggregate-function": "sum"}))
    {'ts': 'sequence.field', 'n': 'sequence.field'}
    """
    bound: dict[str, str] = {}
    for key, value in options.items():
        for column in _columns_of(key, value):
            bound.setdefault(column, key)
    return bound


def column_options(options: Mapping[str, str]) -> Mapping[str, str]:
    """Return the options that name columns.

    >>> dict(column_options({"sequence.field": "n", "file-index.bsi.n.x": "1", "file-index.read.enabled": "true"}))
    {'sequence.field': 'n', 'file-index.bsi.n.x': '1'}
    """
    return {key: value for key, value in options.items() if any(_columns_of(key, value)) or _is_index_setting(key)}


def rename_in_options(options: Mapping[str, str], old: str, new: str) -> Mapping[str, str]:
    """Return the options after a column was renamed.

    >>> rename_in_options({"sequence.field": "ts,n", "fields.n.aggregate-function": "sum", "bucket": "2"}, "n", "m")
    {'sequence.field': 'ts,m', 'fields.m.aggregate-function': 'sum', 'bucket': '2'}
    >>> rename_in_options({"file-index.bsi.columns": "n,m[n]", "file-index.bsi.m[n].x": "1"}, "m", "p")
    {'file-index.bsi.columns': 'n,p[n]', 'file-index.bsi.p[n].x': '1'}
    """
    return dict(_renamed(key, value, old, new) for key, value in options.items())


def options_under_names_of(earlier: TableSchema, later: TableSchema) -> Mapping[str, str]:
    """Return the options of the earlier schema with the names that its columns have in the later one."""
    new_names = {field.id: field.name for field in later.fields}
    renamed = {f.name: new_names[f.id] for f in earlier.fields if new_names.get(f.id, f.name) != f.name}
    options = earlier.options
    for number, old in enumerate(renamed):
        options = rename_in_options(options, old, _PASSING_NAME.format(number))
    for number, new in enumerate(renamed.values()):
        options = rename_in_options(options, _PASSING_NAME.format(number), new)
    return options


def options_of_columns(options: Mapping[str, str], columns: Collection[str]) -> Mapping[str, str]:
    """Return the options without those ``fields.*`` that concern only other columns.

    >>> dict(options_of_columns({"fields.n.aggregate-function": "sum", "fields.ts.sequence-group": "n,m"}, ["ts", "m"]))
    {'fields.ts.sequence-group': 'm'}
    """
    kept: dict[str, str] = {}
    for key, value in options.items():
        suffix = _list_suffix(key) if key.startswith(_FIELDS) else None
        bound = _split(key[len(_FIELDS) : -len(suffix)]) if suffix else list(_columns_of(key, value))
        if key.startswith(_FIELDS) and bound and not any(name in columns for name in bound):
            continue
        kept[key] = ",".join(name for name in _split(value) if name in columns) if suffix else value
    return kept


def _columns_of(key: str, value: str) -> Iterator[str]:
    if key in _LISTS or key in _SINGLE:
        yield from _split(value)
    elif _is_index_list(key):
        yield from map(column_of, _split(value))
    elif key.startswith(_FIELDS):
        suffix = _list_suffix(key)
        if suffix:
            yield from _split(key[len(_FIELDS) : -len(suffix)])
            yield from _split(value)
        else:
            column, dot, _ = key[len(_FIELDS) :].rpartition(".")
            if dot:
                yield column


def _renamed(key: str, value: str, old: str, new: str) -> tuple[str, str]:
    if key in _LISTS or key in _SINGLE:
        return key, _rename_list(value, old, new)
    if key.startswith(_INDEX_PREFIX):
        return _renamed_index(key, value, old, new)
    if key.startswith(_FIELDS):
        suffix = _list_suffix(key)
        if suffix:
            columns = _rename_list(key[len(_FIELDS) : -len(suffix)], old, new)
            return f"{_FIELDS}{columns}{suffix}", _rename_list(value, old, new)
        column, dot, name = key[len(_FIELDS) :].rpartition(".")
        if dot and column == old:
            return f"{_FIELDS}{new}.{name}", value
    return key, value


def _is_index_list(key: str) -> bool:
    return key.startswith(_INDEX_PREFIX) and key.endswith(_INDEX_COLUMNS)


def _is_index_setting(key: str) -> bool:
    return key.startswith(_INDEX_PREFIX) and key.count(".") > _INDEX_PREFIX.count(".") + 1


def _renamed_index(key: str, value: str, old: str, new: str) -> tuple[str, str]:
    """Rename a column in a list of indexed columns, or in a setting ``file-index.<type>.<column>.<name>``."""

    def renamed(name: str) -> str:
        return new + name[len(old) :] if column_of(name) == old else name

    if _is_index_list(key):
        names = _split(value)
        return key, value if names == list(map(renamed, names)) else ",".join(map(renamed, names))
    index_type, _, setting = key[len(_INDEX_PREFIX) :].partition(".")
    column, dot, name = setting.rpartition(".")
    return (f"{_INDEX_PREFIX}{index_type}.{renamed(column)}.{name}" if dot else key), value


def _list_suffix(key: str) -> str | None:
    return next((suffix for suffix in _LIST_SUFFIXES if key.endswith(suffix)), None)


def _split(value: str) -> list[str]:
    return [name.strip() for name in value.split(",") if name.strip()]


def _rename_list(value: str, old: str, new: str) -> str:
    names = _split(value)
    return value if old not in names else ",".join(new if name == old else name for name in names)
