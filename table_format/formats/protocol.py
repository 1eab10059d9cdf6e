"""The interface of file formats: write batches to a sink, and read them back.

A format knows columns and their types, but no tables: keys, sequence numbers, schema evolution and metadata are the
business of ``rolling_writer`` and ``data_file_reader``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.kernels.bounds import ColumnBounds
from table_format.model.types import DataField
from table_format.options.files import FileOptions


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """The facts of a closed file. ``bounds`` are exact and belong to the fields by position."""

    row_count: int
    file_size: int
    bounds: tuple[ColumnBounds, ...]


BoundsTest: TypeAlias = Callable[[Mapping[str, ColumnBounds]], bool]
"""Whether rows within those bounds may be wanted; bounds are given by column name, unknown ones are left out."""


@dataclass(frozen=True, slots=True)
class RowGroupFilter:
    """Skips the parts of a file whose bounds of ``fields`` fail the test."""

    fields: tuple[DataField, ...]
    may_match: BoundsTest


@dataclass(frozen=True, slots=True)
class RowGroups:
    """The result of a filter on a file: its number of parts, and the positions of the rows in the parts to read."""

    count: int
    kept: tuple[range, ...]


class FormatWriter(Protocol):
    """Writes one file. The sink belongs to the caller, who closes it after ``close``."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Take rows whose columns are the fields of the file, in order.

        Raises:
            InvalidData: a value cannot be stored.
        """
        ...

    def reaches(self, target_bytes: int) -> bool:
        """Whether the file is that large by now."""
        ...

    def close(self) -> WrittenFile:
        """Write what is buffered and the footer."""
        ...

    def discard(self) -> None:
        """Forget what is buffered; the file stays incomplete."""
        ...


class FormatReader(Protocol):
    """Reads one file. The source belongs to the caller, who closes it."""

    @property
    def row_count(self) -> int:
        """Rows in the whole file."""
        ...

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns of the file in order."""
        ...

    def batches(
        self, fields: Sequence[DataField], *, row_groups: RowGroupFilter | None, batch_rows: int
    ) -> Iterator[pa.RecordBatch]:
        """The columns of those names as arrays of exactly ``arrow_type``, in order, at most ``batch_rows`` at a time.

        Raises:
            BadEncoding: the file does not hold what its footer says, or other types than the fields have.
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
        """As ``batches``, but only the rows at these positions, which ascend; with each batch those of its rows.

        Parts of the file that hold none of them are not decoded. Raises as ``batches``.
        """
        ...


@runtime_checkable
class RowGroupReader(FormatReader, Protocol):
    """A reader of a format whose files have parts with statistics."""

    def row_groups(self, row_groups: RowGroupFilter | None) -> RowGroups:
        """The parts that ``batches`` reads under that filter, in the same order."""
        ...


class FileFormat(Protocol):
    """One file format."""

    @property
    def identifier(self) -> str:
        """Its name in options, and the extension of its files."""
        ...

    def open_writer(self, sink: pa.NativeFile, fields: Sequence[DataField], options: FileOptions) -> FormatWriter:
        """Begin a file."""
        ...

    def open_reader(self, source: pa.NativeFile, path: str, *, use_threads: bool) -> FormatReader:
        """Open a file; ``path`` is for messages only.

        Raises:
            BadEncoding: it is not a file of this format.
        """
        ...
