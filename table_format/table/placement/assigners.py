"""Who chooses the partitions and buckets of rows if several tasks share a write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from table_format.errors import InvalidInputError
from table_format.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class GivenBuckets:
    """Assigners have chosen by the snapshot ``base``: an extra column holds the dynamic bucket of each row, or the
    place of its key.
    """

    column: str
    base: Snapshot | None


@dataclass(frozen=True, slots=True)
class WritingAssigner:
    """The writer is one of several assigners. It chooses dynamic buckets by the snapshot ``base``, and gets all rows
    whose keys it owns.

    Use it only if no two of ``assigners`` can choose the same bucket (``are_apart``).
    """

    assigners: int
    base: Snapshot | None


Assignment: TypeAlias = GivenBuckets | WritingAssigner


def missing_places(given: GivenBuckets) -> InvalidInputError:
    """Return the error for rows without the column of assigned places."""
    message = f"the rows have no column '{given.column}' with the places that assigners have chosen"
    return InvalidInputError(message)
