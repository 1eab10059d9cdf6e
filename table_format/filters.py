"""Filters as objects: conditions built with ``col``, and the predicates that bind them to the columns of a table.

>>> from table_format.filters import col
>>> (col("amount") > 10) | col("amount").is_null()
amount > 10 OR amount IS NULL

A predicate holds values in the internal representation of the format. Programs rarely create one: they build a
``Condition`` or write a filter as text, and see the predicate in a ``Plan``.
"""

from __future__ import annotations

from table_format.model.condition import Column, Condition, Filter, col
from table_format.model.filter_text import FilterValue
from table_format.model.predicate import And, Compare, CompareOp, In, IsNull, Like, Literal, Not, Or, Predicate
from table_format.model.types import InternalValue

__all__ = [
    "And",
    "Column",
    "Compare",
    "CompareOp",
    "Condition",
    "Filter",
    "FilterValue",
    "In",
    "InternalValue",
    "IsNull",
    "Like",
    "Literal",
    "Not",
    "Or",
    "Predicate",
    "col",
]
