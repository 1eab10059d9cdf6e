"""Finds functions whose value differs from one run of a query to the next, although its tables are the same."""

from __future__ import annotations

from itertools import zip_longest
from typing import Final

from table_format.sql.words import words_of

_WITHOUT_PARENTHESES: Final = frozenset(
    {"CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIMESTAMP", "CURRENT_USER", "SESSION_USER"}
)
_WITH_PARENTHESES: Final = frozenset(
    {
        *("NOW", "CURDATE", "UNIX_TIMESTAMP", "TO_UNIX_TIMESTAMP", "CURRENT_TIMEZONE"),
        *("RAND", "RANDN", "RANDOM", "RANDSTR", "UNIFORM", "UUID", "SHUFFLE"),
        *("CURRENT_CATALOG", "CURRENT_DATABASE", "CURRENT_SCHEMA", "USER", "VERSION"),
        *("MONOTONICALLY_INCREASING_ID", "SPARK_PARTITION_ID", "INPUT_FILE_NAME"),
        *("REFLECT", "JAVA_METHOD", "TRY_REFLECT"),
    }
)


def nondeterministic_function(text: str) -> str | None:
    """Return the first function of a query that depends on the time, on chance or on the session; ``None`` without.

    A column with the name of such a function may be taken for it.

    >>> nondeterministic_function("SELECT * FROM t WHERE day = current_date()")
    'current_date'
    """
    words = words_of(text)
    for word, following in zip_longest(words, words[1:]):
        name, is_call = word.text.upper(), following is not None and following.says("(")
        if word.is_name and (name in _WITHOUT_PARENTHESES or (is_call and name in _WITH_PARENTHESES)):
            return word.text
    return None
