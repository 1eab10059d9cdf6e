"""Size statistics in Parquet footers, which Arrow checks in a way that ends the process when they are damaged.

A column chunk may state how often each repetition and definition level occurs, and how long its texts are. Arrow
compares that with the schema when a chunk's metadata is looked at, and what it throws then nobody can catch. So it is
compared here before. Parquet format, ``parquet.thrift``, ``SizeStatistics``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import pyarrow.parquet as pq

_BOOLEANS: Final = (1, 2)
_BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 3, 7, 8, 9, 10, 12
_NUMBERS: Final = (4, 5, 6)
_LONG_FORM: Final = 15
_MAX_DEPTH: Final = 32

_ROW_GROUPS, _COLUMNS, _META_DATA, _SIZES = 4, 1, 3, 16
_TEXT_BYTES, _REPETITION, _DEFINITION = 1, 2, 3


class Sizes(NamedTuple):
    """How many repetition and definition levels a column chunk has counts of, 0 of none, and whether it states the
    bytes that its texts have without an encoding.
    """

    repetition: int = 0
    definition: int = 0
    has_text_bytes: bool = False


def size_statistics(footer: bytes) -> list[Sizes]:
    """The size statistics of all column chunks, in the order of the row groups and there of the columns.

    Raises:
        ValueError: the bytes are not a footer.
    """
    try:
        return list(_Scan(footer).footer())
    except IndexError as error:
        message = "the footer ends in the middle"
        raise ValueError(message) from error


def misfit(metadata: pq.FileMetaData, found: list[Sizes]) -> str | None:
    """What is wrong with the size statistics of a file's footer; ``None`` if they fit its schema."""
    columns = [metadata.schema.column(i) for i in range(len(metadata.schema))]
    if len(found) != len(columns) * metadata.num_row_groups:
        return f"{len(found)} column chunks in {metadata.num_row_groups} row groups of {len(columns)} columns"
    expected = [
        Sizes(c.max_repetition_level + 1, c.max_definition_level + 1, c.physical_type == "BYTE_ARRAY") for c in columns
    ]
    for number, sizes in enumerate(found):
        most = expected[number % len(columns)]
        if (
            sizes.repetition not in (0, most.repetition)
            or sizes.definition not in (0, most.definition)
            or sizes.has_text_bytes > most.has_text_bytes
        ):
            path = columns[number % len(columns)].path
            return f"the size statistics of column '{path}' are {tuple(sizes)}, and its type takes {tuple(most)}"
    return None


class _Scan:
    """Passes over a footer in Thrift's compact protocol and makes nothing of it but the size statistics."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def footer(self) -> Iterator[Sizes]:
        for field, kind in self._fields():
            if field != _ROW_GROUPS or kind != _LIST:
                self._skip(kind, 0)
                continue
            for _ in range(self._list()):
                yield from self._row_group()

    def _row_group(self) -> Iterator[Sizes]:
        for field, kind in self._fields():
            if field != _COLUMNS or kind != _LIST:
                self._skip(kind, 0)
                continue
            for _ in range(self._list()):
                yield self._chunk()

    def _chunk(self) -> Sizes:
        found = Sizes()
        for field, kind in self._fields():
            if field == _META_DATA and kind == _STRUCT:
                found = self._meta_data()
            else:
                self._skip(kind, 0)
        return found

    def _meta_data(self) -> Sizes:
        found = Sizes()
        for field, kind in self._fields():
            if field == _SIZES and kind == _STRUCT:
                found = self._sizes()
            else:
                self._skip(kind, 0)
        return found

    def _sizes(self) -> Sizes:
        lengths = {_REPETITION: 0, _DEFINITION: 0}
        has_text_bytes = False
        for field, kind in self._fields():
            if field in lengths and kind == _LIST:
                lengths[field] = self._data[self._at] >> 4
            has_text_bytes = has_text_bytes or field == _TEXT_BYTES
            self._skip(kind, 0)
        return Sizes(lengths[_REPETITION], lengths[_DEFINITION], has_text_bytes)

    def _fields(self) -> Iterator[tuple[int, int]]:
        """The ids and kinds of the fields of a struct; the caller passes over each value."""
        last = 0
        while (header := self._data[self._at]) != 0:
            self._at += 1
            delta = header >> 4
            last = last + delta if delta else self._zigzag()
            yield last, header & 0x0F
        self._at += 1

    def _list(self) -> int:
        """The number of structs in a list.

        Raises:
            ValueError: it is one of something else.
        """
        size, element = self._list_header()
        if element != _STRUCT:
            message = f"expected a list of structs, found one of Thrift type {element}"
            raise ValueError(message)
        return size

    def _list_header(self) -> tuple[int, int]:
        header = self._data[self._at]
        self._at += 1
        size = header >> 4
        return (self._varint() if size == _LONG_FORM else size), header & 0x0F

    def _skip(self, kind: int, depth: int) -> None:
        if kind in _NUMBERS:
            while self._data[self._at] >= 0x80:
                self._at += 1
            self._at += 1
        elif kind == _BINARY:
            size = self._varint()
            self._at += size
        elif kind in _BOOLEANS:
            pass
        elif kind == _STRUCT and depth < _MAX_DEPTH:
            for _, inner in self._fields():
                self._skip(inner, depth + 1)
        elif kind in (_LIST, _SET) and depth < _MAX_DEPTH:
            size, element = self._list_header()
            if element in (*_BOOLEANS, _BYTE):
                self._at += size
            else:
                for _ in range(size):
                    self._skip(element, depth + 1)
        elif kind in (_BYTE, _DOUBLE):
            self._at += 1 if kind == _BYTE else 8
        else:
            message = f"Thrift type {kind} at depth {depth} does not occur in Parquet footers"
            raise ValueError(message)

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                message = "a Thrift number is too long"
                raise ValueError(message)

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
