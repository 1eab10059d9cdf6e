"""Errors of Spark about a query name the line and the position in the text that the user wrote.

Spark gets another text, with the names of temporary views in place of the names of tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from pyspark.errors.exceptions.captured import CapturedException

from table_format.sql.splices import Edit, edited, offset_before
from table_format.sql.words import place

_VIEW: Final = "_pyspark_" + 32 * "0"
"""A name like those that PySpark makes for placeholders."""
_PLACE: Final = re.compile(r"\bline (\d+)(,?) pos (\d+)")
_SHOWN: Final = re.compile(r"\n== SQL ==\n.*?\n-*\^\^\^", re.DOTALL)


@contextmanager
def places_before(text: str, edits: Sequence[Edit]) -> Iterator[None]:
    """Correct the places in errors about an edited text. On Connect, Spark reads the text later."""
    try:
        yield
    except CapturedException as error:
        error._desc = corrected(error._desc, text, edits)
        raise


def corrected(message: str, text: str, edits: Sequence[Edit]) -> str:
    """Return a message of Spark with places in the text of the user.

    >>> message = "[PARSE_SYNTAX_ERROR] Syntax error at or near end of input. (line 1, pos 64)"
    >>> corrected(message, "SELECT a FROM t GROUP", [Edit(14, 15, "{t0}")])
    '[PARSE_SYNTAX_ERROR] Syntax error at or near end of input. (line 1, pos 24)'
    """
    found = _PLACE.search(message)
    if found is None:
        return message
    line, position = _place_before(int(found[1]), int(found[3]), text, edits)
    message = f"{message[: found.start()]}line {line}{found[2]} pos {position}{message[found.end() :]}"
    shown = text.split("\n")[:line]
    return _SHOWN.sub(lambda _: "\n".join(("", "== SQL ==", *shown, "-" * position + "^^^")), message)


def _place_before(line: int, position: int, text: str, edits: Sequence[Edit]) -> tuple[int, int]:
    lines = _formatted(edited(text, edits)).split("\n")
    offset = sum(len(before) + 1 for before in lines[: line - 1]) + position
    found, column = place(text, offset_before(edits, offset, lambda part: len(_formatted(part))))
    return found, column - 1


class _Views(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return _VIEW


def _formatted(text: str) -> str:
    return text.format_map(_Views())
