"""The ``order_by`` and ``limit`` of a scan as a caller gives them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from table_format.errors import InvalidInputError, UnsupportedFeature
from table_format.model.arguments import name_or_names, optional_whole_number
from table_format.model.column_names import no_such_column
from table_format.model.row_order import OrderedColumn, RowLimit
from table_format.model.types import NESTED, DataField

_COLUMN: Final = re.compile(
    r"""\s*(?:`(?P<back>(?:[^`]|``)+)`|"(?P<double>(?:[^"]|"")+)"|(?P<plain>[^\s,`"]+))
    (?:\s+(?P<direction>ASC|DESC))?(?:\s+NULLS\s+(?P<nulls>FIRST|LAST))?\s*""",
    re.IGNORECASE | re.VERBOSE,
)


def row_limit(order_by: str | Sequence[str] | None, limit: int | None) -> RowLimit | None:
    """Parse the limit of a scan; columns are not looked up.

    ``order_by`` is the text after ORDER BY in SQL, or a sequence of such columns. As in Spark, nulls come first in
    ascending and last in descending order unless the text says otherwise.

    >>> str(row_limit("price DESC, `a b` NULLS LAST", 5))
    'ORDER BY price DESC NULLS LAST, a b ASC NULLS LAST LIMIT 5'

    Raises:
        InvalidInputError: the limit is negative, the order has no limit, or cannot be parsed.
    """
    count = optional_whole_number(limit, "limit", minimum=0)
    if order_by is None:
        return None if count is None else RowLimit(count)
    order = (
        tuple(_parsed(order_by))
        if isinstance(order_by, str)
        else tuple(map(_single, name_or_names(order_by, "order_by")))
    )
    if not order:
        message = "order_by: expected at least one column"
        raise InvalidInputError(message)
    if count is None:
        message = "order_by needs limit: a scan does not sort all rows"
        raise InvalidInputError(message)
    return RowLimit(count, order)


def check_order(order: Sequence[OrderedColumn], fields: Sequence[DataField]) -> None:
    """Look up the columns of an order.

    Raises:
        ColumnNotFound: a column does not exist.
        UnsupportedFeature: a column has a type without an order.
    """
    by_name = {field.name: field for field in fields}
    for ordered in order:
        field = by_name.get(ordered.column)
        if field is None:
            raise no_such_column(ordered.column, by_name, "of order_by")
        if isinstance(field.type, NESTED):
            feature = f"order_by of column '{field.name}' of type {field.type}"
            raise UnsupportedFeature(feature)


def _parsed(text: str) -> Iterator[OrderedColumn]:
    at = 0
    while True:
        found = _COLUMN.match(text, at)
        if found is None or (found.end() < len(text) and text[found.end()] != ","):
            raise _unparsable(text)
        yield _column(found)
        at = found.end() + 1
        if at > len(text):
            return


def _single(text: str) -> OrderedColumn:
    found = _COLUMN.fullmatch(text)
    if found is None:
        raise _unparsable(text)
    return _column(found)


def _column(found: re.Match[str]) -> OrderedColumn:
    back, double = found["back"], found["double"]
    name = back.replace("``", "`") if back else double.replace('""', '"') if double else found["plain"]
    descending = (found["direction"] or "").upper() == "DESC"
    nulls = (found["nulls"] or "").upper()
    return OrderedColumn(name, descending, nulls == "FIRST" if nulls else not descending)


def _unparsable(text: str) -> InvalidInputError:
    return InvalidInputError(
        f"order_by: expected '<column> [ASC|DESC] [NULLS FIRST|LAST]', the name in backticks where it has spaces or "
        f"commas, found {text!r}"
    )
