"""Checks the size statistics in Parquet footers, because damaged ones crash the process in Arrow.

A column chunk may state the count of each repetition and definition level, and the size of its texts. Arrow compares
them with the schema when it opens a chunk's metadata, and throws an exception that cannot be caught. They are therefore
compared here first. Parquet format, ``parquet.thrift``, ``SizeStatistics``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import pyarrow.parquet as pq

from table_format.formats.thrift_compact import I64, LIST, STRUCT, Reader, end_of_value, list_header, number_at, visit

_ROW_GROUPS, _COLUMNS, _META_DATA, _SIZES = 4, 1, 3, 16
BYTE_ARRAY: Final = "BYTE_ARRAY"
"""The physical type of texts and bytes."""

_TEXT_BYTES, _REPETITION, _DEFINITION = 1, 2, 3


class Sizes(NamedTuple):
    """How many repetition and definition levels a column chunk has counts of, 0 of none, and the bytes that its texts
    have without an encoding, if they are stated.
    """

    repetition: int = 0
    definition: int = 0
    text_bytes: int | None = None


def size_statistics(footer: bytes) -> list[Sizes]:
    """Return the size statistics of all column chunks, ordered by row group and column.

    Raises:
        ValueError: the bytes are not a footer.
    """
    try:
        return _ColumnChunks().of(footer)
    except IndexError as error:
        message = "the footer is truncated"
        raise ValueError(message) from error


def misfit(metadata: pq.FileMetaData, found: list[Sizes]) -> str | None:
    """Return the error in the size statistics of a file's footer; ``None`` if they fit its schema."""
    columns = [metadata.schema.column(i) for i in range(len(metadata.schema))]
    if len(found) != len(columns) * metadata.num_row_groups:
        return f"{len(found)} column chunks in {metadata.num_row_groups} row groups of {len(columns)} columns"
    expected = [
        (c.max_repetition_level + 1, c.max_definition_level + 1, c.physical_type == BYTE_ARRAY) for c in columns
    ]
    for number, sizes in enumerate(found):
        repetition, definition, is_text = expected[number % len(columns)]
        if (
            sizes.repetition not in (0, repetition)
            or sizes.definition not in (0, definition)
            or (sizes.text_bytes is not None and not is_text)
        ):
            path = columns[number % len(columns)].path
            allowed = f"{repetition} and {definition} levels and {'the' if is_text else 'no'} bytes of texts"
            return f"the size statistics of column '{path}' are {tuple(sizes)}, but its type allows {allowed}"
    return None


class _ColumnChunks:
    """Visits the column chunks of a footer. Each method with a ``kind`` is a ``Reader`` of a field."""

    def __init__(self) -> None:
        self._found: list[Sizes] = []
        self._repetition = self._definition = 0
        self._text_bytes: int | None = None
        in_sizes = {
            _TEXT_BYTES: self._bytes_of_texts,
            _REPETITION: self._repetition_levels,
            _DEFINITION: self._definition_levels,
        }
        self._in_group = {_COLUMNS: self._columns}
        self._in_column = {_META_DATA: _struct_with({_SIZES: _struct_with(in_sizes)})}

    def of(self, footer: bytes) -> list[Sizes]:
        visit(footer, 0, {_ROW_GROUPS: self._row_groups})
        return self._found

    def _row_groups(self, data: bytes, at: int, kind: int) -> int:
        count, at = _struct_count(data, at, kind)
        for _ in range(count):
            at = visit(data, at, self._in_group)
        return at

    def _columns(self, data: bytes, at: int, kind: int) -> int:
        count, at = _struct_count(data, at, kind)
        for _ in range(count):
            self._repetition = self._definition = 0
            self._text_bytes = None
            at = visit(data, at, self._in_column)
            self._found.append(Sizes(self._repetition, self._definition, self._text_bytes))
        return at

    def _bytes_of_texts(self, data: bytes, at: int, kind: int) -> int:
        end = end_of_value(data, at, kind)
        self._text_bytes = number_at(data, at) if kind == I64 else 0
        return end

    def _repetition_levels(self, data: bytes, at: int, kind: int) -> int:
        if kind == LIST:
            self._repetition, _, _ = list_header(data, at)
        return end_of_value(data, at, kind)

    def _definition_levels(self, data: bytes, at: int, kind: int) -> int:
        if kind == LIST:
            self._definition, _, _ = list_header(data, at)
        return end_of_value(data, at, kind)


def _struct_with(readers: Mapping[int, Reader]) -> Reader:
    """Return a reader of a struct that reads some of its fields."""
    return lambda data, at, kind: visit(data, at, readers) if kind == STRUCT else end_of_value(data, at, kind)


def _struct_count(data: bytes, at: int, kind: int) -> tuple[int, int]:
    """Return the number of structs in a list, and where the first of them starts.

    Raises:
        ValueError: the field is not a list of structs.
    """
    if kind != LIST:
        message = f"expected a list of structs, found a field of Thrift type {kind}"
        raise ValueError(message)
    size, element, at = list_header(data, at)
    if element != STRUCT:
        message = f"expected a list of structs, found one of Thrift type {element}"
        raise ValueError(message)
    return size, at
