"""Checks aggregate functions when a table is created, as in the reference (Java ``aggregate.factory.*``)."""

from __future__ import annotations

from table_format.errors import InvalidOption
from table_format.kernels.aggregates.function import AggregateFunction
from table_format.kernels.aggregates.functions import FUNCTIONS
from table_format.kernels.aggregates.spec import AggregateSpec


def check_aggregate(spec: AggregateSpec) -> None:
    """Refuse a function that does not exist, does not accept the column's type, or lacks an option.

    Raises:
        InvalidOption: the message names ``fields.<column>.aggregate-function``, or the wrong option.
    """
    function = function_of(spec)
    if not function.accepts.contains(spec.field.type):
        raise _wrong_type(spec, function)
    function.check(spec)


def function_of(spec: AggregateSpec) -> AggregateFunction:
    """Return the function of an existing column.

    Raises:
        InvalidOption: the function does not exist, or does not accept the type of the column.
    """
    function = FUNCTIONS.get(spec.function)
    if function is None:
        message = f"there is no aggregate function '{spec.function}'; known are {', '.join(FUNCTIONS)}"
        raise InvalidOption(_option(spec), message)
    if not (function.folds or function.accepts).contains(spec.field.type):
        raise _wrong_type(spec, function)
    return function


def _option(spec: AggregateSpec) -> str:
    return f"fields.{spec.field.name}.aggregate-function"


def _wrong_type(spec: AggregateSpec, function: AggregateFunction) -> InvalidOption:
    message = f"'{spec.function}' takes {function.accepts.words}; column '{spec.field.name}' is {spec.field.type}"
    return InvalidOption(_option(spec), message)
