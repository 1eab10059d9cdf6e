"""What keeps a snapshot apart from the retained history: a tag, or a snapshot file below a gap in the ids.

A rollback that was interrupted leaves the second: the snapshot it goes back to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from table_format.errors import CorruptionError
from table_format.model.snapshot import Snapshot

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class KeptByTag:
    """A tag keeps the snapshot."""

    tag: str

    def __str__(self) -> str:
        return f"tag '{self.tag}'"


@dataclass(frozen=True, slots=True)
class KeptByFile:
    """The snapshot's own file keeps it."""

    snapshot_id: int

    def __str__(self) -> str:
        return f"snapshot {self.snapshot_id}"


Keeper: TypeAlias = KeptByTag | KeptByFile


@dataclass(frozen=True, slots=True)
class KeptApart:
    """Kept snapshots by their keepers: those with a place in the history before some snapshot, and all others."""

    before: Mapping[Keeper, Snapshot]
    unplaced: Mapping[Keeper, Snapshot]

    @property
    def all(self) -> Mapping[Keeper, Snapshot]:
        """Both."""
        return {**self.before, **self.unplaced}


def place(
    kept: Mapping[Keeper, Snapshot], retained: Mapping[int, Snapshot], end: Snapshot, *, is_rewritten: bool
) -> KeptApart:
    """Where kept snapshots lie in the history before ``end``; those that the history keeps itself are left out.

    ``retained`` are the listed snapshots that have the id of a kept one and, where ``is_rewritten`` says that the
    history is being replaced by another, all from ``end`` on: these need not follow each other then.
    """
    before: dict[Keeper, Snapshot] = {}
    unplaced: dict[Keeper, Snapshot] = {}
    for keeper, snapshot in kept.items():
        present = retained.get(snapshot.id)
        if present is not None and present.is_same(snapshot):
            if snapshot.id < end.id:
                before[keeper] = snapshot
        elif present is not None or snapshot.id >= end.id:
            # It belongs to a history that was given up, or its id is damaged: its neighbours are not known.
            unplaced[keeper] = snapshot
        else:
            before[keeper] = snapshot
    if is_rewritten:
        unplaced |= {KeptByFile(i): snapshot for i, snapshot in retained.items() if i >= end.id}
    times = [s.time_millis for s in sorted((*before.values(), end), key=lambda s: s.id)]
    if times != sorted(times):
        return KeptApart({}, unplaced | before)
    return KeptApart(before, unplaced)


def nearest_before(kept: Mapping[T, int], ids: Iterable[int]) -> Sequence[T]:
    """For each snapshot id the keeper of the nearest snapshot before it; each keeper once.

    A file removed by snapshot n that any earlier tag has is one the nearest has, since no file comes back.

    >>> nearest_before({"a": 1, "b": 5, "c": 9}, range(4, 8))
    ['a', 'b']
    """
    ordered = sorted(kept.items(), key=lambda item: (item[1], str(item[0])))
    found: dict[T, None] = {}
    for snapshot_id in ids:
        before = [keeper for keeper, kept_id in ordered if kept_id < snapshot_id]
        if before:
            found[before[-1]] = None
    return list(found)


@contextmanager
def naming(keeper: Keeper) -> Iterator[None]:
    """Add to a corruption error which keeper needs the file."""
    try:
        yield
    except CorruptionError as e:
        kind = "tag" if isinstance(keeper, KeptByTag) else "snapshot"
        e.add_note(f"{keeper} needs this file; restore it, or delete the {kind}")
        raise
