"""Refuses ``CREATE TABLE ... USING paimon`` in plain ``spark.sql``: Spark would create an entry without a table.

Spark does not call a Python data source when it creates a table with columns, so the statement is checked before Spark
gets it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import Any, Final

from table_format.errors import InvalidSql, UnsupportedFeature
from table_format.spark.source.entry_statements import check_entry_statement
from table_format.sql.reader import Reader

_USING: Final = re.compile(r"\bUSING\s+`?paimon\b", re.IGNORECASE)
_CHECKED: Final = "refuses_empty_entries"


def refuse_empty_entries(session: type) -> None:
    """Check the statements of sessions of this class from now on, also those on entries. Idempotent."""
    run: Callable[..., Any] = session.sql  # type: ignore[attr-defined]  # a session of either kind
    if getattr(run, _CHECKED, False):
        return

    @wraps(run)
    def checked(self: Any, sqlQuery: str, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - as in Spark
        check_plain_statement(sqlQuery)
        check_entry_statement(self, sqlQuery)
        return run(self, sqlQuery, *arguments, **named)

    setattr(checked, _CHECKED, True)
    session.sql = checked  # type: ignore[attr-defined]  # Spark has no hook for statements


def check_plain_statement(text: str) -> None:
    """Refuse a statement with which Spark would create an empty entry.

    An existing table may get an entry with LOCATION and without columns.

    Raises:
        UnsupportedFeature: the statement would create an empty entry; the message names the alternative.
    """
    if not isinstance(text, str) or _USING.search(text) is None:
        return
    try:
        reader = Reader.of(text)
    except InvalidSql:
        return  # Spark reports the error.
    if not _creates_table(reader) or not _has_columns(reader):
        return
    feature = "CREATE TABLE ... USING paimon in spark.sql"
    message = (
        f"{feature} is not supported: Spark would create an entry without a table; use lake.sql with the same text, "
        "and lake.attach to add it to Spark's catalog"
    )
    raise UnsupportedFeature(feature, message)


def _creates_table(reader: Reader) -> bool:
    """Skip ``CREATE TABLE`` or a similar beginning. Return whether it was there."""
    if reader.take("CREATE"):
        reader.take("OR", "REPLACE")
    elif not reader.take("REPLACE"):
        return False
    reader.take("EXTERNAL")
    return reader.take("TABLE")


def _has_columns(reader: Reader) -> bool:
    """Return whether the statement defines columns by a list, a query or another table."""
    reader.take("IF", "NOT", "EXISTS")
    while reader.word is not None and not reader.sees("USING"):
        if reader.sees("(") or reader.sees("LIKE"):
            return True
        reader.position += 1
    depth = 0
    for word in reader.words[reader.position :]:
        depth += word.says("(") - word.says(")")
        if depth == 0 and word.says("AS"):
            return True
    return False
