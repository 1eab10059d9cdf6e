"""Replays entries as columns to find the live files.

This is the counterpart of ``manifest.replay`` for plans that examine all files of a table. Most names occur only once,
and their entries are live. Entries whose names occur more often are replayed one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from table_format.codecs.manifest_columns import ManifestColumns
from table_format.metastore.manifest.replay import ReplayError
from table_format.model.manifest import FileIdentifier, ManifestEntry


@dataclass(frozen=True, slots=True, eq=False)
class ChosenEntries:
    """Some entries of a manifest, given by ascending positions."""

    columns: ManifestColumns
    rows: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return int(self.rows.size)

    def where(self, mask: npt.NDArray[np.bool_]) -> ChosenEntries:
        """Return the entries that a mask selects."""
        return ChosenEntries(self.columns, self.rows[mask])

    def entries(self) -> list[ManifestEntry]:
        """Return the entries themselves."""
        return self.columns.entries(self.rows)


def live_rows(manifests: Sequence[ChosenEntries]) -> list[ChosenEntries]:
    """Return the additions without a later removal, of manifests in replay order.

    Raises:
        ReplayError: a file is added twice, removed twice, or removed although it never existed.
    """
    names = [name for manifest in manifests for name in _names(manifest)]
    is_added = np.concatenate([m.columns.is_added[m.rows] for m in manifests]) if manifests else np.zeros(0, np.bool_)
    repeated = _repeated(names)
    if not repeated and is_added.all():
        return list(manifests)
    is_live = np.ones(len(names), np.bool_)
    if repeated:
        positions = [position for position, name in enumerate(names) if name in repeated]
        is_live[positions] = False
        is_live[list(_replayed(manifests, positions, is_added))] = True
    left_over = np.flatnonzero(is_live & ~is_added)
    if left_over.size:
        raise ReplayError(_entry(manifests, int(left_over[0])), "is removed although it does not exist")
    ends = np.cumsum([len(manifest) for manifest in manifests])
    masks = np.split(is_live, ends[:-1])
    return [manifest.where(mask) for manifest, mask in zip(manifests, masks, strict=True)]


def _names(manifest: ChosenEntries) -> Sequence[str]:
    names = manifest.columns.names
    return names if len(manifest) == len(names) else [names[row] for row in manifest.rows.tolist()]


def _repeated(names: Sequence[str]) -> frozenset[str]:
    seen: set[str] = set(names)
    if len(seen) == len(names):
        return frozenset()
    found = []
    for name in names:
        if name in seen:
            seen.discard(name)
        else:
            found.append(name)
    return frozenset(found)


def _replayed(
    manifests: Sequence[ChosenEntries], positions: Sequence[int], is_added: npt.NDArray[np.bool_]
) -> Iterator[int]:
    """Yield the positions of the entries that remain after the replay, which may be removals of missing files."""
    merged: dict[FileIdentifier, int] = {}
    for position, identifier in zip(positions, _identifiers(manifests, positions), strict=True):
        before = merged.get(identifier)
        if before is None:
            merged[identifier] = position
        elif is_added[position]:
            raise ReplayError(_entry(manifests, position), "is added although it already exists")
        elif not is_added[before]:
            raise ReplayError(_entry(manifests, position), "is removed twice")
        else:
            del merged[identifier]
    yield from merged.values()


def _identifiers(manifests: Sequence[ChosenEntries], positions: Sequence[int]) -> Iterator[FileIdentifier]:
    wanted = np.array(positions, np.int64)
    start = 0
    for manifest in manifests:
        end = start + len(manifest)
        here = wanted[np.searchsorted(wanted, start) : np.searchsorted(wanted, end)]
        yield from manifest.columns.identifiers(manifest.rows[here - start])
        start = end


def _entry(manifests: Sequence[ChosenEntries], position: int) -> ManifestEntry:
    for manifest in manifests:
        if position < len(manifest):
            return manifest.columns.entries(manifest.rows[position : position + 1])[0]
        position -= len(manifest)
    raise IndexError(position)
