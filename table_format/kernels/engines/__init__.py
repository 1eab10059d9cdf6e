"""Merge engines that compute a row from all versions of a key, over Arrow columns (format chapter 12)."""

from table_format.kernels.engines.combine import combine
from table_format.kernels.engines.first_row import FIRST_ROW_REFUSAL
from table_format.kernels.engines.partial_update import PARTIAL_UPDATE_REFUSAL
from table_format.kernels.engines.spec import (
    Aggregation,
    Engine,
    FirstRow,
    PartialUpdate,
    SequenceGroup,
    needed_columns,
)

__all__ = [
    "FIRST_ROW_REFUSAL",
    "PARTIAL_UPDATE_REFUSAL",
    "Aggregation",
    "Engine",
    "FirstRow",
    "PartialUpdate",
    "SequenceGroup",
    "combine",
    "needed_columns",
]
