"""The messages of the SQL parser in words of its users: without names of the parser's classes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_MISSING: Final = re.compile(r"Required keyword: '\w+' missing for <class '[\w.]*?(\w+)'>")
_CLASS: Final = re.compile(r"<class '[\w.]*?(\w+)'>")
_TOKEN: Final = re.compile(r"<Token token_type: TokenType\.(\w+), text: (.*?), line: .*>")
_OPERATORS: Final = {
    "Add": "+",
    "Sub": "-",
    "Mul": "*",
    "Div": "/",
    "EQ": "=",
    "NEQ": "<>",
    "GT": ">",
    "GTE": ">=",
    "LT": "<",
    "LTE": "<=",
}


def described(place: Mapping[str, object], otherwise: str) -> str:
    """Return what the parser says about one of its errors; ``otherwise`` if it says nothing.

    >>> described({"description": "Required keyword: 'expression' missing for <class 'sqlglot.core.GT'>"}, "")
    'a value is missing beside >'
    >>> described({"description": "Expecting )."}, "")
    'Expecting )'
    >>> described({"description": "Expected a name but got <Token token_type: TokenType.VAR, text: a, line: 1>"}, "")
    "Expected a name but got 'a'"
    """
    text = str(place.get("description", otherwise)).rstrip(".")
    missing = _MISSING.search(text)
    if missing is not None:
        name = missing[1]
        return f"a value is missing beside {_OPERATORS.get(name, name.upper())}"
    text = _TOKEN.sub(lambda token: "the end" if token[1] == "SENTINEL" else repr(token[2]), text)
    return _CLASS.sub(r"\1", text)
