"""The aggregate function of a field, and the effect of each row on it (format chapter 12, section 6).

The merge engine determines the action of each row; functions receive only the accumulator and the input (Java
``FieldAggregator.agg``, ``aggReversed`` and ``retract``).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum

from table_format.model.types import DataField


class Action(IntEnum):
    """The effect of one row on the accumulator of its group."""

    SKIP = 0
    """The row has no effect."""
    AGG = 1
    """The row is newer than the accumulator: ``acc = agg(acc, in)``."""
    REVERSED = 2
    """The row is older than the accumulator: ``acc = aggReversed(acc, in)``."""
    RETRACT = 3
    """The row retracts: ``acc = retract(acc, in)``."""
    RESET = 4
    """The row's value replaces the accumulator, as for a delete that replaces the record."""


class NestedKeyNullStrategy(StrEnum):
    """The treatment of elements of a nested table whose nested key has a null."""

    MERGE = "merge"
    """Null is a key value like any other."""
    IGNORE = "ignore"
    """The element is dropped."""
    ERROR = "error"
    """The merge fails."""


@dataclass(frozen=True)
class AggregateSpec:
    """A column, its aggregate function, and the options ``fields.<column>.*`` of the function."""

    function: str
    field: DataField
    delimiter: str = ","
    distinct: bool = False
    ignore_retract: bool = False
    nested_key: tuple[str, ...] = ()
    nested_sequence: tuple[str, ...] = ()
    nested_key_null_strategy: NestedKeyNullStrategy = NestedKeyNullStrategy.MERGE
    count_limit: int | None = None
    """The maximum number of elements of a nested table; ``None`` means no limit."""
    partial_counts: bool = False
    """Whether a ``count`` column stores counts (see ``initial_values``) or, as in 0.8, the values to be counted."""
    own_options: tuple[tuple[str, object], ...] = ()
    """The values of the function's own options, by the last part of their keys."""
    timestamp_field: str | None = None
    """The field of a map's ROW values that ``merge_map_with_keytime`` compares; ``None`` means the last field."""
