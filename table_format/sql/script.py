"""Splits a script into its statements, which ``;`` separates."""

from __future__ import annotations

from collections.abc import Iterator

from table_format.sql.reader import blank
from table_format.sql.words import Word, words_of


def statements_of(text: str) -> tuple[str, ...]:
    """Return the statements of a script. Spaces replace the preceding statements, so that lines and columns stay valid.

    >>> statements_of("SELECT ';' ; SELECT 2;")
    ("SELECT ';'", '             SELECT 2')

    Raises:
        InvalidSql: a quote or a comment is not closed.
    """
    return tuple(
        blank(text[: words[0].start]) + text[words[0].start : end] for words, end in _groups(text, words_of(text))
    )


def _groups(text: str, words: tuple[Word, ...]) -> Iterator[tuple[list[Word], int]]:
    group: list[Word] = []
    for word in words:
        if not word.says(";"):
            group.append(word)
            continue
        if group:
            # The statement ends here: a hint may follow the last word.
            yield group, len(text[: word.start].rstrip())
        group = []
    if group:
        yield group, len(text.rstrip())
