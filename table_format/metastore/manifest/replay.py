"""Replays manifest entries to find the live files (format chapter 04, section 7; Java ``FileEntry``).

An ADD makes a file live, and a DELETE of the same identifier removes it. The level is part of the identifier, so an
upgrade is one of each. The functions are pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from table_format.model.manifest import FileIdentifier, FileKind, ManifestEntry

MergedEntries = dict[FileIdentifier, ManifestEntry]
"""The result of a replay, in order of first appearance; a remaining DELETE is of a file added before the entries."""


class ReplayError(Exception):
    """Entries contradict each other. The caller determines whether that is a conflict or corruption."""

    def __init__(self, entry: ManifestEntry, problem: str) -> None:
        self.entry = entry
        self.problem = problem
        super().__init__(f"file '{entry.file.file_name}' (bucket {entry.bucket}, level {entry.file.level}) {problem}")


def merge_entries(entries: Iterable[ManifestEntry], merged: MergedEntries | None = None) -> MergedEntries:
    """Replay the entries on top of ``merged``, which is changed and returned.

    Raises:
        ReplayError: a file is added twice, or removed twice.
    """
    merged = {} if merged is None else merged
    for entry in entries:
        identifier = entry.identifier
        before = merged.get(identifier)
        if before is None:
            merged[identifier] = entry
        elif entry.kind is FileKind.ADD:
            raise ReplayError(entry, "is added although it already exists")
        elif before.kind is FileKind.DELETE:
            raise ReplayError(entry, "is removed twice")
        else:
            del merged[identifier]
    return merged


def live_entries(merged: MergedEntries) -> list[ManifestEntry]:
    """Return the additions without a later removal.

    Raises:
        ReplayError: a removal is left, so its file never existed.
    """
    for entry in merged.values():
        if entry.kind is not FileKind.ADD:
            raise ReplayError(entry, "is removed although it does not exist")
    return list(merged.values())
