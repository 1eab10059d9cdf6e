"""Replaces parts of a statement; the rest stays as the user wrote it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """Replaces the characters from ``start`` to ``end`` by ``text``."""

    start: int
    end: int
    text: str


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Apply the edits to a text.

    >>> edited("SELECT a FROM t", [Edit(14, 15, "f"), Edit(7, 8, "b")])
    'SELECT b FROM f'
    """
    parts: list[str] = []
    position = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        parts += [text[position : edit.start], edit.text]
        position = edit.end
    return "".join([*parts, text[position:]])


def offset_before(edits: Iterable[Edit], offset: int, length_of: Callable[[str], int] = len) -> int:
    """Return the offset in the text before the edits for an offset in the edited text.

    ``length_of`` returns how long the text of an edit has become since. An offset within it is that of its start.

    >>> offset_before([Edit(7, 8, "amount")], 14)  # FROM in "SELECT amount FROM t", which was "SELECT b FROM t"
    9
    """
    growth = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        start = edit.start + growth
        if offset < start:
            break
        if offset < start + length_of(edit.text):
            return edit.start
        growth += length_of(edit.text) - (edit.end - edit.start)
    return offset - growth


def text_literal(text: str) -> str:
    """Quote a text.

    >>> text_literal("it's")
    "'it\\\\'s'"
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def quoted(name: str) -> str:
    """Quote a name with backticks.

    >>> quoted("t$files")
    '`t$files`'
    """
    return "`" + name.replace("`", "``") + "`"
