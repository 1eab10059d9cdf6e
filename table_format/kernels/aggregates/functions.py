"""The aggregate functions by the format's names: what they accept, whether they retract, how they fold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from table_format.kernels.aggregates.blobs import fold_hll_sketch, fold_rbm32, fold_rbm64, fold_theta_sketch
from table_format.kernels.aggregates.collect import fold_collect
from table_format.kernels.aggregates.extremes import fold_max, fold_min
from table_format.kernels.aggregates.maps import fold_merge_map, fold_merge_map_with_keytime
from table_format.kernels.aggregates.nested import fold_nested_update
from table_format.kernels.aggregates.nested_partial import fold_nested_partial_update
from table_format.kernels.aggregates.numeric import fold_count, fold_product, fold_sum
from table_format.kernels.aggregates.picks import (
    fold_first_non_null_value,
    fold_first_value,
    fold_last_non_null_value,
    fold_last_value,
)
from table_format.kernels.aggregates.segments import Segments
from table_format.kernels.aggregates.spec import AggregateSpec
from table_format.kernels.aggregates.text import fold_listagg
from table_format.model.types import (
    MAX_LENGTH,
    NESTED,
    ArrayType,
    BigIntType,
    BooleanType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    MapType,
    RowType,
    SmallIntType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)


@dataclass(frozen=True)
class Function:
    """One function; ``expects`` says in words which types ``accepts`` does."""

    fold: Callable[[AggregateSpec, Segments], pa.Array]
    accepts: Callable[[DataType], bool]
    expects: str
    retracts: bool = False
    sees_resets: bool = False
    """Whether what came before a reset, or that the value did not come as an input, matters to it."""
    folds: Callable[[DataType], bool] | None = None
    """Types that tables of earlier releases have and no new table may; ``None`` are those that it accepts."""


_NUMERIC = (TinyIntType, SmallIntType, IntType, BigIntType, FloatType, DoubleType, DecimalType)


def _is_numeric(t: DataType) -> bool:
    return isinstance(t, _NUMERIC)


def _is_counter(t: DataType) -> bool:
    return isinstance(t, IntType | BigIntType)


def _is_comparable(t: DataType) -> bool:
    return not isinstance(t, NESTED)


def _is_any(_: DataType) -> bool:
    return True


def _is_boolean(t: DataType) -> bool:
    return isinstance(t, BooleanType)


def _is_text(t: DataType) -> bool:
    return isinstance(t, VarCharType) and t.length == MAX_LENGTH


def _is_varchar(t: DataType) -> bool:
    return isinstance(t, VarCharType)


def _is_array(t: DataType) -> bool:
    return isinstance(t, ArrayType)


def _is_map(t: DataType) -> bool:
    return isinstance(t, MapType)


def _is_timed_map(t: DataType) -> bool:
    return isinstance(t, MapType) and isinstance(t.value, RowType) and len(t.value.fields) > 1


def _is_nested_table(t: DataType) -> bool:
    return isinstance(t, ArrayType) and isinstance(t.element, RowType)


def _is_bytes(t: DataType) -> bool:
    return isinstance(t, VarBinaryType)


_NUMBER: Final = "a number"
_COMPARABLE: Final = "a comparable type, that is none of ARRAY, MAP, MULTISET and ROW"
_ANY: Final = "any type"
_TABLE: Final = "ARRAY<ROW<...>>"
_BINARY: Final = "VARBINARY or BYTES"

_FIRST_NON_NULL: Final = Function(fold_first_non_null_value, _is_any, _ANY, sees_resets=True)

FUNCTIONS: Final[Mapping[str, Function]] = {
    "sum": Function(fold_sum, _is_numeric, _NUMBER, retracts=True),
    "product": Function(fold_product, _is_numeric, _NUMBER, retracts=True),
    "count": Function(fold_count, _is_counter, "INT or BIGINT", retracts=True),
    "max": Function(fold_max, _is_comparable, _COMPARABLE),
    "min": Function(fold_min, _is_comparable, _COMPARABLE),
    "last_value": Function(fold_last_value, _is_any, _ANY, retracts=True, sees_resets=True),
    "last_non_null_value": Function(fold_last_non_null_value, _is_any, _ANY, retracts=True, sees_resets=True),
    "first_value": Function(fold_first_value, _is_any, _ANY, sees_resets=True),
    "first_non_null_value": _FIRST_NON_NULL,
    "first_not_null_value": _FIRST_NON_NULL,
    "listagg": Function(fold_listagg, _is_text, "STRING, that is VARCHAR without a length", folds=_is_varchar),
    "bool_and": Function(fold_min, _is_boolean, "BOOLEAN"),
    "bool_or": Function(fold_max, _is_boolean, "BOOLEAN"),
    "collect": Function(fold_collect, _is_array, "ARRAY<...>", retracts=True, sees_resets=True),
    "merge_map": Function(fold_merge_map, _is_map, "MAP<...>", retracts=True),
    "merge_map_with_keytime": Function(
        fold_merge_map_with_keytime, _is_timed_map, "MAP<..., ROW<...>> with two or more fields in the ROW"
    ),
    "nested_update": Function(fold_nested_update, _is_nested_table, _TABLE, retracts=True, sees_resets=True),
    "nested_partial_update": Function(fold_nested_partial_update, _is_nested_table, _TABLE, sees_resets=True),
    "rbm32": Function(fold_rbm32, _is_bytes, _BINARY),
    "rbm64": Function(fold_rbm64, _is_bytes, _BINARY),
    "theta_sketch": Function(fold_theta_sketch, _is_bytes, _BINARY),
    "hll_sketch": Function(fold_hll_sketch, _is_bytes, _BINARY),
}
