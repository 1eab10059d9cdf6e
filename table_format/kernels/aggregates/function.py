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
    """A set of column types, and how an error or the documentation names it."""

    words: str
    contains: Callable[[DataType], bool]


ANY: Final = ColumnTypes("any type", lambda _: True)
NUMBERS: Final = ColumnTypes(
    "a number",
    lambda t: isinstance(t, TinyIntType | SmallIntType | IntType | BigIntType | FloatType | DoubleType | DecimalType),
)
COMPARABLE: Final = ColumnTypes(
    "a comparable type, that is none of ARRAY, MAP, MULTISET and ROW", lambda t: not isinstance(t, NESTED)
)
ARRAYS: Final = ColumnTypes("ARRAY<...>", lambda t: isinstance(t, ArrayType))
TABLES: Final = ColumnTypes("ARRAY<ROW<...>>", lambda t: isinstance(t, ArrayType) and isinstance(t.element, RowType))
BINARY: Final = ColumnTypes("VARBINARY or BYTES", lambda t: isinstance(t, VarBinaryType))


def _nothing_to_check(_: AggregateSpec) -> None: ...


@dataclass(frozen=True)
class AggregateFunction:
    """One function by its name in ``fields.<column>.aggregate-function``."""

    name: str
    fold: Callable[[AggregateSpec, Segments], pa.Array]
    """Reduces all groups at once: one value for each, of the type of the inputs. It works on columns, not row by row.
    """
    accepts: ColumnTypes
    """Columns that may have it."""
    summary: str
    """What the value of a group is, for the documentation."""
    retracts: bool = False
    """Whether a -U or -D row can be taken back from it."""
    sees_resets: bool = False
    """Whether what came before a reset, or that the value did not come as an input, matters to it."""
    folds: ColumnTypes | None = None
    """Types that tables of earlier releases have and no new table may; ``None`` are those that it accepts."""
    options: tuple[OptionPattern[object], ...] = ()
    """Options ``fields.<column>.*`` of its own; their values are in ``AggregateSpec.own_options``."""
    check: Callable[[AggregateSpec], None] = _nothing_to_check
    """Refuses options that do not fit the column or each other, with ``InvalidOption``."""
    initial: Callable[[pa.Array], pa.Array] | None = None
    """What a writer stores for inputs before anything is merged, where that is not the inputs themselves."""
    folded_field: Callable[[DataField], DataField] | None = None
    """The column as which another is folded, where its type has what nothing heeds."""
