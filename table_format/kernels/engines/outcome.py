"""The result of a merge engine for the versions of each key: the source of every column, or its computed values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.counted import counted
from table_format.errors import InvalidData
from table_format.kernels.compiled import Int64Array
from table_format.kernels.engines.versions import Versions
from table_format.kernels.merge_order import Mask
from table_format.model.schema import SYSTEM_FIELD_NAMES

Source: TypeAlias = Int64Array | pa.Array
"""The source of a column: row ids (-1 for null) or the values themselves, one for each key."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One row for each key with several versions.

    ``last`` is the row whose sequence number the result has. ``columns`` are the columns that are not taken from it.
    ``kept`` excludes keys without a result.
    """

    last: Int64Array
    kinds: npt.NDArray[np.int8]
    columns: Mapping[str, Source]
    kept: Mask | None = None


def value_columns(versions: Versions) -> Iterator[str]:
    """Return the columns of the rows except system columns."""
    return (name for name in versions.rows.schema.names if name not in SYSTEM_FIELD_NAMES)


def check_required(versions: Versions, required: frozenset[str], columns: Mapping[str, Source]) -> None:
    """Refuse results without a value in a NOT NULL column.

    Raises:
        InvalidData: a result has a null in a NOT NULL column; the message names the column.
    """
    for name, source in columns.items():
        if name not in required:
            continue
        if isinstance(source, pa.Array):
            nulls = source.null_count
        else:
            valid = versions.valid(name)
            missing = source < 0
            nulls = int((missing if valid is None else missing | ~valid[source]).sum())
        if nulls:
            message = (
                f"column '{name}' is NOT NULL; merging {counted(versions.starts.size, 'key')} left {nulls} of them "
                "without it"
            )
            raise InvalidData(message)
