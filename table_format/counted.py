"""Counts with their nouns, and lists of names, for reports and messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_SHOWN: Final = 50
"""By default, the number of names in a message; a table may have thousands of columns or tags."""


def counted(count: int, one: str, more: str | None = None, *, thousands: bool = False) -> str:
    """Return a count and its noun, singular for 1.

    ``more`` is the plural; by default ``one`` with an "s". Both may include a verb that depends on the number.
    ``thousands`` separates groups of three digits by commas.

    >>> counted(1, "bucket"), counted(0, "bucket"), counted(2, "branch", "branches")
    ('1 bucket', '0 buckets', '2 branches')
    >>> counted(1, "file is", "files are"), counted(1200, "row", thousands=True)
    ('1 file is', '1,200 rows')
    """
    noun = one if count == 1 else more or f"{one}s"
    return f"{count:,} {noun}" if thousands else f"{count} {noun}"


def listed(names: Iterable[str], most: int = _SHOWN) -> str:
    """Return names for a message, and the number of those beyond the first ``most``.

    >>> listed(["id", "amount"])
    'id, amount'
    >>> listed(f"c{number}" for number in range(2_000))[-17:]
    'c49 and 1950 more'
    """
    known = list(names)
    more = len(known) - most
    return ", ".join(known) if more <= 0 else f"{', '.join(known[:most])} and {more} more"
