"""The limit of a query on a leaf of the optimized plan: the first n rows in an order, or any n rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from table_format.model.row_order import OrderedColumn, RowLimit
from table_format.model.types import NESTED, DataField
from table_format.spark.read.jvm_plans import JavaObject, class_name, items_of

LIMITS: Final = ("GlobalLimit", "LocalLimit")


def limit_above(parents: Sequence[JavaObject], columns: Mapping[int, DataField]) -> RowLimit | None:
    """Return the first rows of a leaf, or of a filter on it, that are sufficient for the operations above it.

    ``parents`` are these operations, the nearest one last. ``columns`` are the columns of the leaf by expression id.
    The result is ``None`` if all rows may be needed: rows are joined or grouped before the limit, or are ordered by
    expressions other than columns.
    """
    if not any(class_name(parent) in LIMITS for parent in parents):
        return None
    projects: list[JavaObject] = []
    order: tuple[OrderedColumn, ...] | None = None
    for parent in reversed(parents):
        match class_name(parent):
            case "Project":
                projects.append(parent)
            case "Sort" if order is None and getattr(parent, "global")():
                order = _order(parent, projects, columns)
                if order is None:
                    return None
            case "GlobalLimit" | "LocalLimit":
                expression = parent.limitExpr()
                return RowLimit(int(expression.value()), order or ()) if class_name(expression) == "Literal" else None
            case _:
                return None
    return None


def _order(
    sort: JavaObject, projects: Sequence[JavaObject], columns: Mapping[int, DataField]
) -> tuple[OrderedColumn, ...] | None:
    found: list[OrderedColumn] = []
    for item in items_of(sort.order()):
        column = _column(item.child(), projects, columns)
        if column is None or isinstance(column.type, NESTED):
            return None
        descending, nulls_first = item.direction().sql() == "DESC", item.nullOrdering().sql() == "NULLS FIRST"
        found.append(OrderedColumn(column.name, descending, nulls_first))
    return tuple(found) or None


def _column(
    expression: JavaObject, projects: Sequence[JavaObject], columns: Mapping[int, DataField]
) -> DataField | None:
    """Return the column of the leaf that an expression above some projections refers to. The nearest one is last."""
    for project in (*reversed(projects), None):
        if class_name(expression) != "AttributeReference":
            return None
        number = expression.exprId().id()
        if number in columns:
            return columns[number]
        if project is not None:
            named = next((item for item in items_of(project.projectList()) if item.exprId().id() == number), None)
            if named is not None and class_name(named) == "Alias":
                expression = named.child()
    return None
