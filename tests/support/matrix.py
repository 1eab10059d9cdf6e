"""Whether tests run every combination, as ``make matrix`` does, instead of those that together contain every case.

Searches and properties draw more examples then, too.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import product
from typing import Any, Final

MATRIX: Final = bool(os.environ.get("MATRIX"))


def tries(few: int, *, many: int) -> int:
    """How many examples or seeds a test tries: a few, or as many as ``make matrix`` does."""
    return many if MATRIX else few


def combinations(*values: Iterable[Any]) -> list[tuple[Any, ...]]:
    """All combinations of a value of each kind, or every second one.

    With three kinds or more, each two values of two kinds are then still together.
    """
    chosen = product(*(enumerate(kind) for kind in values))
    return [tuple(v for _, v in some) for some in chosen if MATRIX or sum(place for place, _ in some) % 2 == 0]
