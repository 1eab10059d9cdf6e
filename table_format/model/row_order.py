"""The order and the maximum number of the rows that a reader requests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OrderedColumn:
    """One column of an order.

    NaN is larger than all numbers, and 0.0 is equal to -0.0; ``nulls_first`` determines the position of nulls, whatever
    the direction.
    """

    column: str
    descending: bool = False
    nulls_first: bool = True

    def __str__(self) -> str:
        direction = "DESC" if self.descending else "ASC"
        return f"{self.column} {direction} NULLS {'FIRST' if self.nulls_first else 'LAST'}"


@dataclass(frozen=True, slots=True)
class RowLimit:
    """The first ``count`` rows in an order, or any rows if there is no order."""

    count: int
    order: tuple[OrderedColumn, ...] = ()

    def __str__(self) -> str:
        """Return the SQL clauses.

        >>> str(RowLimit(10, (OrderedColumn("price", descending=True, nulls_first=False),)))
        'ORDER BY price DESC NULLS LAST LIMIT 10'
        """
        order = f"ORDER BY {', '.join(map(str, self.order))} " if self.order else ""
        return f"{order}LIMIT {self.count}"
