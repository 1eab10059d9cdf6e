"""Whether tests run every combination, as ``make matrix`` does, instead of those that together contain every case."""

from __future__ import annotations

import os
from typing import Final

MATRIX: Final = bool(os.environ.get("MATRIX"))
