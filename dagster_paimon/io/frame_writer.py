"""The interface of the engines that write frames. Nothing is visible before the IO manager commits their messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from dagster_paimon.io.frame_columns import FrameColumns
from dagster_paimon.io.tally import Tally
from table_format import Schema
from table_format.engine import CommitMessage, TableFacts
from table_format.types import DataField

Messages: TypeAlias = tuple[CommitMessage, ...]


@dataclass(frozen=True, slots=True)
class Handling:
    """How the rows of a frame are handled when they are written.

    ``kind`` is the row kind of all rows, such as ``-D``. ``tally`` counts them. ``dropped`` columns are not stored.
    """

    kind: str | None = None
    tally: Tally | None = None
    dropped: frozenset[str] = frozenset()


PLAIN: Final = Handling()
"""All columns are stored, and rows are not counted."""


class FrameWriter(Protocol):
    """A frame to write."""

    def columns(self, table: Sequence[DataField]) -> FrameColumns:
        """Return the columns of the frame for a table with these columns, or for a new table."""
        ...

    @property
    def is_repeatable(self) -> bool:
        """Whether ``write`` can be called again after a lost commit race. A stream can be read only once."""
        ...

    def check(self, table: Schema, handling: Handling) -> None:
        """Refuse rows that a new table of this schema cannot hold, if they are in memory. Others are only refused
        when they are written.
        """
        ...

    def write(self, facts: TableFacts, *, replacing: bool, handling: Handling = PLAIN) -> Messages:
        """Write the rows to files: columns by name, missing ones as nulls, types cast to the table's."""
        ...
