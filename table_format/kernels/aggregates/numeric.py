"""``sum``, ``product`` and ``count`` of integers and floats.

Java ``FieldSumAgg`` and ``FieldProductAgg``; ``FieldCountAgg``, which only 0.8 has.

Integers wrap around as in 1.x. Floats are combined in merge order and in their own width, so the result has the same
bits as in the reference. A retraction of ``sum`` is an input with the opposite sign, even if it is the first.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.errors import InvalidData
from table_format.kernels.aggregates.buffers import Mask, array_of_numbers, numbers, validity
from table_format.kernels.aggregates.decimals import product_of_decimals, sum_of_decimals
from table_format.kernels.aggregates.function import NUMBERS, AggregateFunction, ColumnTypes
from table_format.kernels.aggregates.segments import Segments, Selection, in_order, placed, step_by_step
from table_format.kernels.aggregates.spec import Action, AggregateSpec
from table_format.model.types import BigIntType, IntType


def fold_sum(spec: AggregateSpec, segments: Segments) -> pa.Array:
    """Return the sum of the non-null inputs minus the retracted ones."""
    if pa.types.is_decimal(segments.values.type):
        return sum_of_decimals(spec, segments)
    chosen = _inputs(segments)
    values = _numbers(segments.values)[chosen.rows]
    retracts = segments.actions[chosen.rows] == Action.RETRACT
    if retracts.any():
        values = np.where(retracts, -values, values)
    return placed(_total(values, chosen), chosen, segments)


def fold_count(spec: AggregateSpec, segments: Segments) -> pa.Array:
    """Return the number of non-null inputs minus the retracted ones; for partial counts, their sum."""
    if spec.partial_counts:
        return fold_sum(spec, segments)
    chosen = segments.select(segments.actions != Action.SKIP)
    ones = validity(segments.values)[chosen.rows].astype(segments.values.type.to_pandas_dtype())
    retracts = segments.actions[chosen.rows] == Action.RETRACT
    return placed(_total(np.where(retracts, -ones, ones), chosen), chosen, segments)


def fold_product(spec: AggregateSpec, segments: Segments) -> pa.Array:
    """Return the product of the non-null inputs divided by the retracted ones.

    Raises:
        InvalidData: an integer is divided by zero.
    """
    if pa.types.is_decimal(segments.values.type):
        return product_of_decimals(spec, segments)
    mask = _input_mask(segments)
    retracts = segments.is_action(Action.RETRACT)
    if retracts.any():
        mask &= ~_before_first(segments, mask & ~retracts)
    chosen = segments.select(mask)
    values = _numbers(segments.values)[chosen.rows]
    divides = retracts[chosen.rows]
    if divides.any():
        if values.dtype.kind == "i" and (divides & (values == 0)).any():
            message = f"column '{spec.field.name}': 'product' cannot retract a factor of zero"
            raise InvalidData(message)
        return placed(step_by_step(_multiply_or_divide, values, chosen.starts, divides), chosen, segments)
    if values.dtype.kind == "f":
        return placed(in_order(np.multiply, values, chosen.starts), chosen, segments)
    return placed(_reduced(np.multiply, values, chosen), chosen, segments)


def _multiply_or_divide(accumulators: npt.NDArray[Any], inputs: npt.NDArray[Any], divides: Mask) -> npt.NDArray[Any]:
    products: npt.NDArray[Any] = accumulators * inputs
    if not divides.any():
        return products
    if inputs.dtype.kind == "f":
        return np.asarray(np.where(divides, accumulators / inputs, products))
    divisors = np.where(divides, inputs, 1).astype(inputs.dtype)
    # Java truncates towards zero, numpy rounds down; the smallest number divided by -1 is itself in both.
    quotients = accumulators // divisors
    quotients += (accumulators % divisors != 0) & ((accumulators < 0) != (divisors < 0))
    return np.asarray(np.where(divides, quotients, products))


def _before_first(segments: Segments, mask: Mask) -> Mask:
    """Return the rows of each group before its first row of a mask."""
    seen = np.cumsum(mask)
    before: Mask = seen == np.repeat(seen[segments.starts] - mask[segments.starts], segments.lengths)
    return before


def _input_mask(segments: Segments) -> Mask:
    mask: Mask = validity(segments.values) & (segments.actions != Action.SKIP)
    return mask


def _inputs(segments: Segments) -> Selection:
    return segments.select(_input_mask(segments))


def _numbers(array: pa.Array) -> npt.NDArray[Any]:
    return numbers(array, array.type.to_pandas_dtype())


def _total(values: npt.NDArray[Any], chosen: Selection) -> npt.NDArray[Any]:
    if values.dtype.kind == "f":
        return in_order(np.add, values, chosen.starts)
    return _reduced(np.add, values, chosen)


def _reduced(ufunc: np.ufunc, values: npt.NDArray[Any], chosen: Selection) -> npt.NDArray[Any]:
    if not len(chosen.starts):
        return values
    reduced: npt.NDArray[Any] = ufunc.reduceat(values, chosen.starts, dtype=values.dtype)
    return reduced


def _counts(values: pa.Array) -> pa.Array:
    """Return 1 for each non-null value, else 0. Counts can be added, whatever was merged before."""
    ones = validity(values).astype(values.type.to_pandas_dtype())
    return array_of_numbers(ones, np.ones(len(values), np.bool_), values.type)


SUM: Final = AggregateFunction("sum", fold_sum, NUMBERS, "the sum of all values", retracts=True)
PRODUCT: Final = AggregateFunction("product", fold_product, NUMBERS, "the product of all values", retracts=True)
COUNT: Final = AggregateFunction(
    "count",
    fold_count,
    ColumnTypes("INT or BIGINT", lambda t: isinstance(t, IntType | BigIntType)),
    "the number of non-null values",
    retracts=True,
    initial=_counts,
)
