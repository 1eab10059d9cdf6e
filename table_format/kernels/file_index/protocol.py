"""The extension point for file index types (Java ``FileIndexer``, ``FileIndexWriter``, ``FileIndexReader``).

An index type consists of a module in this package with a value of ``IndexType``, a declaration of its options
(``options.index_types``), and a line in each of the lists ``INDEX_TYPES`` and ``DECLARED_INDEXES``.
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
    """Builds the index of one column of one file from its values in row order."""

    def add(self, column: pa.Array) -> None:
        """Add the values of the next rows, an array of the column's ``arrow_type`` with nulls."""
        ...

    def finish(self) -> bytes | None:
        """Return the index of all added values; ``None`` if the format cannot store one of them."""
        ...


class IndexReader(Protocol):
    """Reads one index of one column of one file. It decodes the parts that a condition needs, and caches them."""

    def evaluate(self, condition: Condition) -> IndexResult:
        """Return the rows that match a condition on the column.

        Raises:
            CorruptionError: the decoded part is damaged.
        """
        ...

    def may_equal(self, values: SoughtValues) -> npt.NDArray[np.bool_]:
        """Return, for each of many values, whether a row of the file may be equal to it.

        Raises:
            CorruptionError: the decoded part is damaged.
        """
        ...


class IndexType(Protocol):
    """One index type."""

    @property
    def declaration(self) -> IndexDeclaration:
        """The name, the options, and the supported column types of the index type."""
        ...

    @property
    def finds_rows(self) -> bool:
        """Whether the index evaluates all conditions, to ``Rows``; otherwise only = and IN, to ``Skip``."""
        ...

    def agrees(self, stored: DataType, wanted: DataType) -> bool:
        """Return whether an index on values of type ``stored`` is valid for the same values read as ``wanted``."""
        ...

    def builder(self, data_type: DataType, settings: Mapping[str, object]) -> IndexBuilder:
        """Start the index of a column; ``settings`` are its options by name."""
        ...

    def has_settings(self, payload: Payload, data_type: DataType, settings: Mapping[str, object]) -> bool:
        """Return whether an index has the form that these settings produce; true for an unknown version.

        Raises:
            CorruptionError: the decoded part of the index is damaged.
        """
        ...

    def reader(self, payload: Payload, data_type: DataType, row_count: int) -> IndexReader | None:
        """Open the index of a column of a file with ``row_count`` rows; ``None`` for an unknown version.

        Raises:
            CorruptionError: the payload is not an index of this type and file.
        """
        ...
