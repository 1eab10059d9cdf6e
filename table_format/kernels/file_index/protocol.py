"""What a type of file index is to the rest of the library (Java ``FileIndexer``, ``FileIndexWriter``, ``-Reader``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.model.types import DataType


class IndexBuilder(Protocol):
    """Takes the values of one column of one file."""

    def add(self, column: pa.Array) -> None:
        """Take the values of the next rows, an array of the column's ``arrow_type``."""
        ...

    def finish(self) -> bytes:
        """The index of all values that were taken."""
        ...


class IndexReader(Protocol):
    """One index of one column of one file."""

    def may_equal(self, values: Any) -> npt.NDArray[np.bool_]:  # noqa: ANN401 - what the type's ``prepared`` made
        """For each of these values whether a row of the file may be equal to it."""
        ...


class IndexType(Protocol):
    """One type of index."""

    @property
    def identifier(self) -> str:
        """Its name in options and files."""
        ...

    def supports(self, data_type: DataType) -> bool:
        """Whether columns of that type can have such an index."""
        ...

    def agrees(self, stored: DataType, wanted: DataType) -> bool:
        """Whether an index over values of one type answers for the same values in the other."""
        ...

    def builder(self, data_type: DataType, settings: Mapping[str, object]) -> IndexBuilder:
        """Begin the index of a column; ``settings`` are what the options say of it."""
        ...

    def prepared(self, values: pa.Array, data_type: DataType) -> Any:  # noqa: ANN401 - each type has its own
        """Values, none of them null, in the shape that many indexes of this type are asked for them in."""
        ...

    def reader(self, payload: bytes, *, path: str) -> IndexReader:
        """Open an index; ``path`` is for messages only.

        Raises:
            BadEncoding: it is not an index of this type.
        """
        ...
