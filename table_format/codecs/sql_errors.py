"""Converts errors of the SQL parser to errors of this library: the text, the problem and its position."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlglot.errors import ParseError, TokenError

from table_format.errors import InvalidInputError
from table_format.parser_messages import described


@contextmanager
def parse_errors_as(
    error: type[InvalidInputError], what: str, text: str, advice: Callable[[], str] = str
) -> Iterator[None]:
    """Raise ``error`` if the text cannot be parsed; ``what`` names the kind of text in the message.

    ``advice`` returns what to write instead, or nothing.
    """
    try:
        yield
    except ParseError as found:
        place = found.errors[0] if found.errors else {}
        where = f"(line {place['line']}, column {place['col']})" if place.get("line") else ""
        message = f"{what} {text!r}: {described(place, str(found))} {where}".rstrip()
        hint = advice()
        raise error(f"{message}; {hint}" if hint else message) from found
    except TokenError as found:
        message = f"{what} {text!r}: a quote or comment is not closed"
        raise error(message) from found
    except RecursionError:
        message = f"the {what} is nested too deeply ({len(text)} characters)"
        raise error(message) from None
