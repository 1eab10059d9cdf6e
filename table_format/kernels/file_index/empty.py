"""An index without bytes, which means that every value of the column is null (Java ``EmptyFileIndexReader``)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from table_format.kernels.file_index.conditions import Condition, SoughtValues
from table_format.kernels.file_index.results import SKIP, UNKNOWN, IndexResult


@dataclass(frozen=True, slots=True)
class EmptyIndex:
    """An index of nulls: only IS NULL matches rows."""

    def evaluate(self, condition: Condition) -> IndexResult:
        """Return ``Unknown`` for IS NULL, and ``Skip`` for any other condition."""
        return UNKNOWN if condition.selects_nulls else SKIP

    def may_equal(self, values: SoughtValues) -> npt.NDArray[np.bool_]:
        """Return false for each value."""
        return np.zeros(len(values), np.bool_)
