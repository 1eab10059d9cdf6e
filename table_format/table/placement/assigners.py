"""Who has chosen, or chooses, the places of the rows of a write that several tasks share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from table_format.errors import InvalidInputError
from table_format.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class GivenBuckets:
    """Assigners have chosen by the snapshot ``base``: rows bring their dynamic bucket, or the place of their key, in a
    column of its own.
    """

    column: str
    base: Snapshot | None


@dataclass(frozen=True, slots=True)
class WritingAssigner:
    """The writer is an assigner, one of so many: it chooses dynamic buckets by the snapshot ``base``, and gets all rows
    whose keys it owns.

    Only where no two of ``assigners`` can choose the same bucket (``are_apart``).
    """

    assigners: int
    base: Snapshot | None


Assignment: TypeAlias = GivenBuckets | WritingAssigner


def missing_places(given: GivenBuckets) -> InvalidInputError:
    """The error for rows that do not bring the places that assigners have chosen."""
    message = f"the rows have no column '{given.column}' with the places that assigners have chosen"
    return InvalidInputError(message)
