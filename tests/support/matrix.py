"""Whether tests run every combination, as ``make matrix`` does, instead of those that together contain every case.

Searches and properties draw more examples then, too.
"""

from __future__ import annotations

import os
from typing import Final

MATRIX: Final = bool(os.environ.get("MATRIX"))


def tries(few: int, *, many: int) -> int:
    """How many examples or seeds a test tries: a few, or as many as ``make matrix`` does."""
    return many if MATRIX else few
