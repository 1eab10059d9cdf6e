"""The extension point for types of file index (Java ``FileIndexer``, ``FileIndexWriter``, ``FileIndexReader``).

A type of index is one module here with a value of ``IndexType``, one declaration of its options
(``options.index_types``), and one line in each of the two lists: ``INDEX_TYPES`` and ``DECLARED_INDEXES``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.kernels.file_index.conditions import Condition, SoughtValues
from table_format.kernels.file_index.payload import Payload
from table_format.kernels.file_index.results import IndexResult
from table_format.model.types import DataType
from table_format.options.index_types import IndexDeclaration


class IndexBuilder(Protocol):
    """Takes the values of one column of one file, in the order of its rows."""

    def add(self, column: pa.Array) -> None:
        """Take the values of the next rows, an array of the column's ``arrow_type`` with its nulls."""
        ...

    def finish(self) -> bytes | None:
        """The index of all values that were taken; ``None`` where the format cannot hold one of them."""
        ...


class IndexReader(Protocol):
    """One index of one column of one file. It decodes what a condition needs, and keeps what it decoded."""

    def evaluate(self, condition: Condition) -> IndexResult:
        """Which rows meet a condition on the column.

        Raises:
            CorruptionError: what had to be decoded is damaged.
        """
        ...

    def may_equal(self, values: SoughtValues) -> npt.NDArray[np.bool_]:
        """For each of many values whether a row of the file may be equal to it.

        Raises:
            CorruptionError: what had to be decoded is damaged.
        """
        ...


class IndexType(Protocol):
    """One type of index."""

    @property
    def declaration(self) -> IndexDeclaration:
        """Its name, its options, and the types of columns that can have it."""
        ...

    @property
    def finds_rows(self) -> bool:
        """Whether the index evaluates all conditions, to ``Rows``; otherwise only = and IN, to ``Skip``."""
        ...

    def agrees(self, stored: DataType, wanted: DataType) -> bool:
        """Whether an index over values of one type answers for the same values read as the other."""
        ...

    def builder(self, data_type: DataType, settings: Mapping[str, object]) -> IndexBuilder:
        """Begin the index of a column; ``settings`` are what the options say of it, by name."""
        ...

    def has_settings(self, payload: Payload, data_type: DataType, settings: Mapping[str, object]) -> bool:
        """Whether an index has the form that these settings give it; an index of an unknown version has.

        Raises:
            CorruptionError: what had to be decoded is damaged.
        """
        ...

    def reader(self, payload: Payload, data_type: DataType, row_count: int) -> IndexReader | None:
        """Open the index of a column of a file with that many rows; ``None`` for a version not known here.

        Raises:
            CorruptionError: it is not an index of this type and this file.
        """
        ...
