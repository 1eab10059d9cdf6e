"""The aggregate functions by the format's names.

A new one takes a module beside this one and a line in ``FUNCTIONS``; a program adds its own by ``register_function``.
"""

from __future__ import annotations

from typing import Final

from table_format.kernels.aggregates.blobs import HLL_SKETCH, RBM32, RBM64, THETA_SKETCH
from table_format.kernels.aggregates.collect import COLLECT
from table_format.kernels.aggregates.extremes import BOOL_AND, BOOL_OR, MAX, MIN
from table_format.kernels.aggregates.function import AggregateFunction
from table_format.kernels.aggregates.maps import MERGE_MAP, MERGE_MAP_WITH_KEYTIME
from table_format.kernels.aggregates.nested import NESTED_UPDATE
from table_format.kernels.aggregates.nested_partial import NESTED_PARTIAL_UPDATE
from table_format.kernels.aggregates.numeric import COUNT, PRODUCT, SUM
from table_format.kernels.aggregates.picks import (
    FIRST_NON_NULL_VALUE,
    FIRST_NOT_NULL_VALUE,
    FIRST_VALUE,
    LAST_NON_NULL_VALUE,
    LAST_VALUE,
)
from table_format.kernels.aggregates.text import LISTAGG
from table_format.options.registry import register_pattern
from table_format.registry import Registry

FUNCTIONS: Final = Registry(
    "aggregate function",
    (
        SUM,
        PRODUCT,
        COUNT,
        MAX,
        MIN,
        LAST_VALUE,
        LAST_NON_NULL_VALUE,
        FIRST_VALUE,
        FIRST_NON_NULL_VALUE,
        FIRST_NOT_NULL_VALUE,
        LISTAGG,
        BOOL_AND,
        BOOL_OR,
        COLLECT,
        MERGE_MAP,
        MERGE_MAP_WITH_KEYTIME,
        NESTED_UPDATE,
        NESTED_PARTIAL_UPDATE,
        RBM32,
        RBM64,
        THETA_SKETCH,
        HLL_SKETCH,
    ),
    name_of=lambda function: function.name,
)


def register_function(function: AggregateFunction) -> None:
    """Let columns have an aggregate function, with its options, in this process.

    Raises:
        AlreadyExistsError: there is a function, or an option, of that name.
    """
    if function.name not in FUNCTIONS:
        for pattern in function.options:
            register_pattern(pattern)
    FUNCTIONS.register(function)


def counts_inputs(name: str) -> bool:
    """Whether what a writer stores for an input is not the input itself; ``False`` for an unknown function."""
    function = FUNCTIONS.get(name)
    return function is not None and function.initial is not None


def functions_markdown() -> str:
    """The reference of all functions as Markdown."""
    lines = [_INTRODUCTION, "| Function | Columns | Value | Takes back |", "|---|---|---|---|"]
    for f in FUNCTIONS.values():
        columns = f.accepts.words.replace("<", "\\<")
        lines.append(f"| `{f.name}` | {columns} | {f.summary} | {'yes' if f.retracts else 'no'} |")
    return "\n".join(lines) + "\n"


_INTRODUCTION: Final = """\
# Aggregate functions

Made by `python -m table_format.kernels.aggregates`; do not edit. A column of a table with `merge-engine = aggregation`,
or of a sequence group of a partial update, has the function that `fields.<column>.aggregate-function` names, or
`fields.default-aggregate-function`. The value has the type of the column. A function that takes nothing back refuses -U
and -D rows, unless `fields.<column>.ignore-retract` is set.
"""
