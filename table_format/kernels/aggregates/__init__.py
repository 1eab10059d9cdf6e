"""Aggregate functions of the aggregation engine and of sequence groups (format chapter 12, section 6)."""

from table_format.kernels.aggregates.check import check_aggregate
from table_format.kernels.aggregates.fold import fold, initial_values
from table_format.kernels.aggregates.functions import FUNCTIONS, counts_inputs
from table_format.kernels.aggregates.spec import Action, AggregateSpec, NestedKeyNullStrategy

__all__ = [
    "FUNCTIONS",
    "Action",
    "AggregateSpec",
    "NestedKeyNullStrategy",
    "check_aggregate",
    "counts_inputs",
    "fold",
    "initial_values",
]
