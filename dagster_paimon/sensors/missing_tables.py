"""Which tables a sensor remembers although they do not exist now, because they may come back."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

_REMEMBERED: Final = 100


def remembered_missing(known: Iterable[str], existing: Collection[str]) -> list[str]:
    """Return the last of the known tables that do not exist, in the same order; a cursor must stay small.

    >>> remembered_missing(["a.x", "a.y"], ["a.y"])
    ['a.x']
    """
    present = frozenset(existing)
    return [table for table in known if table not in present][-_REMEMBERED:]
