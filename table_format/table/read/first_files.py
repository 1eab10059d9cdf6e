"""Finds the files of a plan that can hold the first rows in an order, by their statistics and indexes. Pure.

Each file guarantees that some number of its rows are at or before a value. The best of these guarantees bound the
last row of the result. Files that begin after this bound are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from table_format.indexes.best_rows import BestRows
from table_format.kernels.bounds import ColumnBounds
from table_format.kernels.row_places import Place, first_place, last_values, place_of
from table_format.model.row_order import RowLimit
from table_format.model.types import DataType, InternalValue

_Entry: TypeAlias = tuple[Place, int, int, InternalValue, int | None]
"""A place, the number of the file, how many rows stand there or before, the value, and the position of a single row."""

_FILES_AT_ONCE: Final = 8
"""Files whose indexes are read in one step: a store serves several reads at the same time."""


@dataclass(frozen=True, slots=True)
class OrderedFile:
    """A file whose rows need no merge: its bounds and its guaranteed number of rows.

    ``has_index`` says whether its index can find the first rows.
    """

    bounds: ColumnBounds | None
    rows: int
    has_index: bool


class FirstFiles:
    """The search for the first rows of a limit, which has an order, in files with a column of that type."""

    def __init__(self, limit: RowLimit, data_type: DataType, files: Sequence[OrderedFile]) -> None:
        self._limit = limit
        self._order = limit.order[0]
        self._takes_ties = len(limit.order) > 1
        self._data_type = data_type
        self._files = files
        self._first = [self.place_of_first(file.bounds) for file in files]
        self._entries: dict[int, list[_Entry]] = {
            number: [
                (place_of(value, self._order), number, rows, value, None)
                for value, rows in last_values(file.bounds, self._order, data_type, file.rows)
            ]
            for number, file in enumerate(files)
        }
        self._indexed: set[int] = set()
        self._chosen: list[_Entry] = []
        self._last: _Entry | None = None
        self._choose()

    def place_of_first(self, bounds: ColumnBounds | None) -> Place:
        """Return a place that is not after any row of a file with these bounds."""
        return first_place(bounds, self._order, self._data_type)

    @property
    def bound(self) -> tuple[InternalValue] | None:
        """An upper bound of all rows of the result; ``None`` if there may be too few rows."""
        return None if self._last is None else (self._last[3],)

    def may_hold(self, first: Place) -> bool:
        """Return whether a file that begins at a place may hold necessary rows of the result."""
        if self._last is None:
            return True
        return first <= self._last[0] if self._takes_ties else first < self._last[0]

    def search(self, read: Callable[[Sequence[int]], Iterable[BestRows | None]]) -> None:
        """Read indexes until no further index can change the result. ``read`` returns the first rows of numbered
        files.
        """
        waiting = sorted(
            (number for number, file in enumerate(self._files) if file.has_index),
            key=lambda number: self._first[number],
        )
        while wave := self._next(waiting):
            for number, best in zip(wave, read(wave), strict=True):
                waiting.remove(number)
                if best is not None:
                    self._indexed.add(number)
                    pairs = zip(best.positions, best.values, strict=True)
                    self._entries[number] = [
                        (place_of(value, self._order), number, 1, value, position) for position, value in pairs
                    ]
            self._choose()

    def kept(self) -> dict[int, list[int] | None]:
        """The files to read, by number, with the positions of the rows to read, or ``None`` for all of them."""
        found: dict[int, list[int] | None] = {}
        for number in range(len(self._files)):
            if number in self._indexed:
                if positions := self._positions(number):
                    found[number] = positions
            elif number in self._chosen_files or self.may_hold(self._first[number]):
                found[number] = None
        return found

    def is_indexed(self, number: int) -> bool:
        """Whether the first rows of a file are known from its index."""
        return number in self._indexed

    def _next(self, waiting: Sequence[int]) -> list[int]:
        wanted = (n for n in waiting if n in self._chosen_files or self.may_hold(self._first[n]))
        return [number for number, _ in zip(wanted, range(_FILES_AT_ONCE), strict=False)]

    def _positions(self, number: int) -> list[int]:
        is_all = self._last is None or self._takes_ties
        chosen = self._entries[number] if is_all else (entry for entry in self._chosen if entry[1] == number)
        return sorted(entry[4] for entry in chosen if entry[4] is not None)

    def _choose(self) -> None:
        """Take the best guarantees until there are enough rows; drop those behind the last."""
        entries = sorted((entry for each in self._entries.values() for entry in each), key=lambda entry: entry[:2])
        self._chosen = []
        count = 0
        for entry in entries:
            self._chosen.append(entry)
            count += entry[2]
            if count >= self._limit.count:
                self._last = entry
                break
        self._chosen_files = {entry[1] for entry in self._chosen}
        if self._last is not None:
            last = self._last[0]
            self._entries = {
                number: [entry for entry in each if entry[0] <= last] for number, each in self._entries.items()
            }
