"""A script: several statements with ``;`` between them."""

from __future__ import annotations

from collections.abc import Iterator

from table_format.sql.reader import blank
from table_format.sql.words import Word, words_of


def statements_of(text: str) -> tuple[str, ...]:
    """The statements of a script, with spaces in place of the others, so that lines and columns stay as they are.

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
            # Up to here: a hint may follow the last word.
            yield group, len(text[: word.start].rstrip())
        group = []
    if group:
        yield group, len(text.rstrip())
