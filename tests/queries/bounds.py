"""Bounds at which the library reads or writes in another way, made small: then small tables take each of the ways."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from random import Random
from typing import Final
from unittest.mock import patch

from table_format.spark.read import merged_rows, positions
from table_format.spark.write import few_rows, unmeasured

_MIN_ROWS, _MIN_FILES, _IN_DRIVER, _KEPT = "MIN_ROWS_OF_FILE", "MIN_SMALL_FILES", "MAX_ROWS_IN_DRIVER", "max_bytes"
WRITTEN_IN_DRIVER: Final = "FEW_ROWS"
_PLACES: Final = {
    _MIN_ROWS: (merged_rows,),
    _MIN_FILES: (merged_rows,),
    _IN_DRIVER: (merged_rows, positions),
    _KEPT: (positions.kept_positions,),
    WRITTEN_IN_DRIVER: (few_rows,),
    "SMALL_BYTES": (unmeasured,),
}
_CHOICES: Final[Mapping[str, tuple[int, ...]]] = {
    _MIN_ROWS: (1, 3, 10, 10_000),
    _MIN_FILES: (1, 2, 16),
    _IN_DRIVER: (0, 4_000_000, 4_000_000, 4_000_000),
    _KEPT: (0, 64 << 20),
    WRITTEN_IN_DRIVER: (0, 100_000),
}


def random_bounds(chance: Random) -> dict[str, int]:
    """Files that count as small and how many are many, what the driver compares and keeps, and what it writes."""
    return {name: chance.choice(choices) for name, choices in _CHOICES.items()}


@contextmanager
def bounds_of(bounds: Mapping[str, int]) -> Iterator[None]:
    """The bounds, for as long as the block takes."""
    with ExitStack() as patches:
        for name, value in bounds.items():
            for place in _PLACES[name]:
                patches.enter_context(patch.object(place, name, value))
        yield
