"""The interface of file formats, which write batches to a sink and read them back.

A format handles columns and their types, but not tables: ``rolling_writer`` and ``data_file_reader`` handle keys,
sequence numbers, schema evolution and metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.kernels.bounds import ColumnBounds
from table_format.model.types import DataField, DataType
from table_format.options.files import FileOptions


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """The facts of a closed file. ``bounds`` are exact and in the order of the fields."""

    row_count: int
    file_size: int
    bounds: tuple[ColumnBounds, ...]


BoundsTest: TypeAlias = Callable[[Mapping[str, ColumnBounds]], bool]
"""A test whether rows within these bounds, by column name, may be selected. Unknown bounds are left out."""


@dataclass(frozen=True, slots=True)
class RowGroupFilter:
    """A filter that skips row groups whose bounds of ``fields`` fail the test."""

    fields: tuple[DataField, ...]
    may_match: BoundsTest


@dataclass(frozen=True, slots=True)
class RowGroups:
    """The result of a filter on a file: its number of row groups, and the row positions in those to read."""

    count: int
    kept: tuple[range, ...]


class FormatWriter(Protocol):
    """Writes one file. The caller owns the sink, and closes it after ``close``."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows whose columns are the fields of the file, in order.

        Raises:
            InvalidData: a value cannot be stored.
        """
        ...

    def reaches(self, target_bytes: int) -> bool:
        """Return whether the file has reached ``target_bytes`` bytes."""
        ...

    def close(self) -> WrittenFile:
        """Write the buffered rows and the footer, and return the facts of the file."""
        ...

    def discard(self) -> None:
        """Discard the buffered rows; the file stays incomplete."""
        ...


class FormatReader(Protocol):
    """Reads one file. The caller owns the source, and closes it."""

    @property
    def row_count(self) -> int:
        """The number of rows in the file."""
        ...

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns of the file in order."""
        ...

    def batches(
        self, fields: Sequence[DataField], *, row_groups: RowGroupFilter | None, batch_rows: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield ``fields`` in order, as arrays of exactly ``arrow_type``, at most ``batch_rows`` rows at a time.

        Raises:
            BadEncoding: the content does not match the footer, or the types do not match those of ``fields``.
        """
        ...

    def selected(
        self,
        fields: Sequence[DataField],
        positions: npt.NDArray[np.int64],
        *,
        row_groups: RowGroupFilter | None,
        batch_rows: int,
    ) -> Iterator[tuple[pa.RecordBatch, npt.NDArray[np.int64]]]:
        """Yield only the rows at these ascending positions; each batch comes with the positions of its rows.

        Parts of the file without such a row are not decoded. Raises the same errors as ``batches``.
        """
        ...


@runtime_checkable
class RowGroupReader(FormatReader, Protocol):
    """A reader of a format whose files have row groups with statistics."""

    def row_groups(self, row_groups: RowGroupFilter | None) -> RowGroups:
        """Return the row groups that ``batches`` reads with this filter, in the same order."""
        ...


class FileFormat(Protocol):
    """One file format."""

    @property
    def identifier(self) -> str:
        """The name of the format in options, and the extension of its files."""
        ...

    def open_writer(self, sink: pa.NativeFile, fields: Sequence[DataField], options: FileOptions) -> FormatWriter:
        """Open a new file for writing."""
        ...

    def open_reader(self, source: pa.NativeFile, path: str, *, use_threads: bool) -> FormatReader:
        """Open a file for reading; ``path`` is only for messages.

        Raises:
            BadEncoding: the file is not a file of this format.
        """
        ...


@runtime_checkable
class ChecksValues(Protocol):
    """A file format that cannot store all values of a type.

    A row may reach files of the format only in a later compaction, so its values are checked when it is written.
    """

    def check_values(self, array: pa.Array, data_type: DataType) -> None:
        """Refuse a column with a value that files of the format cannot store.

        Raises:
            InvalidData: names the value and its type.
        """
        ...


@runtime_checkable
class ChecksRows(Protocol):
    """A file format that cannot store all rows, even if it can store each of their values."""

    def check_rows(self, columns: Sequence[pa.Array], fields: Sequence[DataField]) -> None:
        """Refuse rows that files of the format cannot store.

        Raises:
            InvalidData: says what is wrong with a row.
        """
        ...
