"""The parameters at the end of the address of a server: ``?name=value&...``."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from urllib.parse import parse_qsl

from table_format.errors import InvalidOption
from table_format.nearest_names import did_you_mean
from table_format.options.jdbc import URI


def given_parameters(query: str, known: Collection[str]) -> Sequence[tuple[str, str]]:
    """Return the names and values in the query of an address.

    >>> given_parameters("sslmode=require", ["sslmode"])
    [('sslmode', 'require')]

    Raises:
        InvalidOption: a name is not one of ``known``. The message shows no value.
    """
    given = parse_qsl(query, keep_blank_values=True)
    for name, _ in given:
        if name not in known:
            others = f"; those of {', '.join(known)} are"
            message = f"the parameter {name!r} is not supported{did_you_mean(name, known) or others}"
            raise InvalidOption(URI.key, message)
    return given
