"""Snapshots that are kept outside the retained history: by a tag, or by a snapshot file below a gap in the ids.

An interrupted rollback leaves one of these snapshot files: that of its target.
"""

from __future__ import annotations

from bisect import bisect_left
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
    """A snapshot file below a gap keeps the snapshot."""

    snapshot_id: int

    def __str__(self) -> str:
        return f"snapshot {self.snapshot_id}"


Keeper: TypeAlias = KeptByTag | KeptByFile


@dataclass(frozen=True, slots=True)
class KeptSnapshots:
    """Kept snapshots by keeper: those with a place in the history before some snapshot, and all others."""

    before: Mapping[Keeper, Snapshot]
    unplaced: Mapping[Keeper, Snapshot]

    @property
    def all(self) -> Mapping[Keeper, Snapshot]:
        """All kept snapshots."""
        return {**self.before, **self.unplaced}


def place(
    kept: Mapping[Keeper, Snapshot], retained: Mapping[int, Snapshot], end: Snapshot, *, is_rewritten: bool
) -> KeptSnapshots:
    """Return the places of kept snapshots in the history before ``end``, without those that the history itself keeps.

    ``retained`` are the listed snapshots that have the id of a kept one. If the history is being replaced
    (``is_rewritten``), they include all snapshots from ``end`` on, which then need not follow each other.
    """
    before: dict[Keeper, Snapshot] = {}
    unplaced: dict[Keeper, Snapshot] = {}
    for keeper, snapshot in kept.items():
        present = retained.get(snapshot.id)
        if present is not None and present.is_same(snapshot):
            if snapshot.id < end.id:
                before[keeper] = snapshot
        elif present is not None or snapshot.id >= end.id:
            # It belongs to an abandoned history, or its id is damaged: its neighbours are unknown.
            unplaced[keeper] = snapshot
        else:
            before[keeper] = snapshot
    if is_rewritten:
        unplaced |= {KeptByFile(i): snapshot for i, snapshot in retained.items() if i >= end.id}
    times = [s.time_millis for s in sorted((*before.values(), end), key=lambda s: s.id)]
    if times != sorted(times):
        return KeptSnapshots({}, unplaced | before)
    return KeptSnapshots(before, unplaced)


def nearest_before(kept: Mapping[T, int], ids: Iterable[int]) -> Sequence[T]:
    """Return, for each snapshot id, the keeper of the nearest snapshot before it; each keeper once.

    If an earlier tag has a file that snapshot n removed, the nearest tag has it too, because removed files never
    return.

    >>> nearest_before({"a": 1, "b": 5, "c": 9}, range(4, 8))
    ['a', 'b']
    """
    ordered = sorted(kept.items(), key=lambda item: (item[1], str(item[0])))
    kept_ids = [kept_id for _, kept_id in ordered]
    counts = (bisect_left(kept_ids, snapshot_id) for snapshot_id in ids)
    return list(dict.fromkeys(ordered[before - 1][0] for before in counts if before))


@contextmanager
def naming(keeper: Keeper) -> Iterator[None]:
    """Add a note to a corruption error that names the keeper that needs the file."""
    try:
        yield
    except CorruptionError as e:
        kind = "tag" if isinstance(keeper, KeptByTag) else "snapshot"
        e.add_note(f"{keeper} needs this file; restore it, or delete the {kind}")
        raise
