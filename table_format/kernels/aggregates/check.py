"""What the reference refuses when a table is created (Java ``aggregate.factory.*``)."""

from __future__ import annotations

from table_format.errors import InvalidOption
from table_format.kernels.aggregates.functions import FUNCTIONS, Function
from table_format.kernels.aggregates.spec import AggregateSpec, NestedKeyNullStrategy
from table_format.model.types import ArrayType, MapType, RowType

NESTED_UPDATE = "nested_update"
NESTED_PARTIAL_UPDATE = "nested_partial_update"
MERGE_MAP_WITH_KEYTIME = "merge_map_with_keytime"


def check_aggregate(spec: AggregateSpec) -> None:
    """Refuse a function that does not exist, does not accept the column's type, or misses an option.

    Raises:
        InvalidOption: names ``fields.<column>.aggregate-function``, or the option that does not fit it.
    """
    function = function_of(spec)
    if not function.accepts(spec.field.type):
        raise _wrong_type(spec, function)
    if spec.function in (NESTED_UPDATE, NESTED_PARTIAL_UPDATE):
        _check_nested(spec)
    if spec.function == MERGE_MAP_WITH_KEYTIME and spec.timestamp_field is not None:
        _check_timestamp_field(spec)


def function_of(spec: AggregateSpec) -> Function:
    """The function of a column that exists already.

    Raises:
        InvalidOption: there is none of that name, or it cannot work on the column.
    """
    function = FUNCTIONS.get(spec.function)
    if function is None:
        message = f"there is no aggregate function '{spec.function}'; known are {', '.join(FUNCTIONS)}"
        raise InvalidOption(_option(spec), message)
    if not (function.folds or function.accepts)(spec.field.type):
        raise _wrong_type(spec, function)
    return function


def _option(spec: AggregateSpec) -> str:
    return f"fields.{spec.field.name}.aggregate-function"


def _wrong_type(spec: AggregateSpec, function: Function) -> InvalidOption:
    message = f"'{spec.function}' takes {function.expects}; column '{spec.field.name}' is {spec.field.type}"
    return InvalidOption(_option(spec), message)


def _check_nested(spec: AggregateSpec) -> None:
    name = spec.field.name
    if not spec.nested_key:
        if spec.function == NESTED_PARTIAL_UPDATE:
            message = f"'{spec.function}' needs the option 'fields.{name}.nested-key'"
            raise InvalidOption(_option(spec), message)
        for option, is_set in (
            ("nested-sequence-field", bool(spec.nested_sequence)),
            ("nested-key-null-strategy", spec.nested_key_null_strategy is not NestedKeyNullStrategy.MERGE),
        ):
            if is_set:
                option_key, message = f"fields.{name}.{option}", f"needs the option 'fields.{name}.nested-key'"
                raise InvalidOption(option_key, message)
    if not (isinstance(spec.field.type, ArrayType) and isinstance(spec.field.type.element, RowType)):
        return
    known = [f.name for f in spec.field.type.element.fields]
    for option, columns in (("nested-key", spec.nested_key), ("nested-sequence-field", spec.nested_sequence)):
        for column in columns:
            if column not in known:
                message = f"column '{name}' has no nested field '{column}'; its fields are {', '.join(known)}"
                option_key = f"fields.{name}.{option}"
                raise InvalidOption(option_key, message)


def _check_timestamp_field(spec: AggregateSpec) -> None:
    if isinstance(spec.field.type, MapType) and isinstance(spec.field.type.value, RowType):
        known = [f.name for f in spec.field.type.value.fields]
        if spec.timestamp_field not in known:
            message = f"column '{spec.field.name}' has no field '{spec.timestamp_field}'; there are {', '.join(known)}"
            key = f"fields.{spec.field.name}.ts-field"
            raise InvalidOption(key, message)
