"""Other text in some places of a statement; all else stays as the user wrote it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """``text`` in place of what stands from ``start`` to ``end``."""

    start: int
    end: int
    text: str


def edited(text: str, edits: Iterable[Edit]) -> str:
    """The text with the edits made.

    >>> edited("SELECT a FROM t", [Edit(14, 15, "f"), Edit(7, 8, "b")])
    'SELECT b FROM f'
    """
    parts: list[str] = []
    position = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        parts += [text[position : edit.start], edit.text]
        position = edit.end
    return "".join([*parts, text[position:]])


def quoted(name: str) -> str:
    """A name within back-quotes.

    >>> quoted("t$files")
    '`t$files`'
    """
    return "`" + name.replace("`", "``") + "`"
