"""An index that is announced and has no bytes: every value of the column is null (Java ``EmptyFileIndexReader``)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from table_format.kernels.file_index.conditions import Condition, SoughtValues
from table_format.kernels.file_index.results import SKIP, UNKNOWN, IndexResult


@dataclass(frozen=True, slots=True)
class EmptyIndex:
    """No row meets any condition but IS NULL."""

    def evaluate(self, condition: Condition) -> IndexResult:
        """Unknown for IS NULL; no row meets any other condition."""
        return UNKNOWN if condition.selects_nulls else SKIP

    def may_equal(self, values: SoughtValues) -> npt.NDArray[np.bool_]:
        """No row is equal to any value."""
        return np.zeros(len(values), np.bool_)
