"""The declaration of an aggregate function. ``functions`` lists all of them.

The result of a function always has the type of its column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from table_format.kernels.aggregates.segments import Segments
from table_format.kernels.aggregates.spec import AggregateSpec
from table_format.model.types import (
    NESTED,
    ArrayType,
    BigIntType,
    DataField,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    RowType,
    SmallIntType,
    TinyIntType,
    VarBinaryType,
)
from table_format.options.declare import OptionPattern


@dataclass(frozen=True, slots=True)
class ColumnTypes:
    """A set of column types, with its description for errors and the documentation."""

    words: str
    contains: Callable[[DataType], bool]


ANY: Final = ColumnTypes("any type", lambda _: True)
NUMBERS: Final = ColumnTypes(
    "a number",
    lambda t: isinstance(t, TinyIntType | SmallIntType | IntType | BigIntType | FloatType | DoubleType | DecimalType),
)
COMPARABLE: Final = ColumnTypes(
    "a comparable type: all except ARRAY, MAP, MULTISET and ROW", lambda t: not isinstance(t, NESTED)
)
ARRAYS: Final = ColumnTypes("ARRAY<...>", lambda t: isinstance(t, ArrayType))
TABLES: Final = ColumnTypes("ARRAY<ROW<...>>", lambda t: isinstance(t, ArrayType) and isinstance(t.element, RowType))
BINARY: Final = ColumnTypes("VARBINARY or BYTES", lambda t: isinstance(t, VarBinaryType))


def _nothing_to_check(_: AggregateSpec) -> None: ...


@dataclass(frozen=True)
class AggregateFunction:
    """One function, with its name in ``fields.<column>.aggregate-function``."""

    name: str
    fold: Callable[[AggregateSpec, Segments], pa.Array]
    """Reduces all groups at once by column, and returns one value for each, of the type of the inputs."""
    accepts: ColumnTypes
    """The column types that the function accepts."""
    summary: str
    """A description of the value of a group, for the documentation."""
    retracts: bool = False
    """Whether the function can retract -U and -D rows."""
    sees_resets: bool = False
    """Whether the result depends on rows before a reset, or on whether the value of the reset was an input."""
    folds: ColumnTypes | None = None
    """Types that tables of earlier releases may have, but new tables may not; ``None`` means ``accepts``."""
    options: tuple[OptionPattern[object], ...] = ()
    """The function's own options ``fields.<column>.*``; their values are in ``AggregateSpec.own_options``."""
    check: Callable[[AggregateSpec], None] = _nothing_to_check
    """Refuses options that contradict the column or each other, with ``InvalidOption``."""
    initial: Callable[[pa.Array], pa.Array] | None = None
    """Returns what a writer stores for inputs before any merge; ``None`` if it stores the inputs themselves."""
    folded_field: Callable[[DataField], DataField] | None = None
    """Returns the column to fold instead of the actual one, if its type has an irrelevant property."""
