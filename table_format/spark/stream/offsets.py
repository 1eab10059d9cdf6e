"""The position of a streaming query, as Spark stores it in checkpoints and shows it in the progress of the query.

All snapshots before the snapshot of the offset have been read, and some of its splits. An offset also identifies the
table, the snapshot and the splits, because ids are reused after a rollback, or if another table replaces the table.
Every offset contains the first snapshot of the query, because Spark does not store the start of a query before its
first micro-batch is complete.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from table_format.errors import InvalidInputError
from table_format.model.snapshot import Snapshot
from table_format.model.split import DataSplit

_VERSION: Final = 1
_KEYS: Final = {"snapshot", "read", "splits", "first", "full", "table", "commit", "files", "version"}
_DIGITS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The snapshot with which a query begins: with its state if ``is_state``, otherwise with its changes."""

    snapshot: int
    is_state: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Offset:
    """A position: ``read`` of the ``splits`` of a snapshot were read, and all snapshots before it.

    ``origin`` is ``None`` until the first snapshot exists. ``table``, ``commit`` and ``files`` identify the table, the
    snapshot and the splits that were read; ``commit`` and ``files`` are empty at the beginning.

    >>> start = Offset.beginning("t", Origin(snapshot=3, is_state=True))
    >>> Offset.of(start.to_json()) == start, start.is_complete, start.next_snapshot
    (True, False, 3)
    """

    table: str
    origin: Origin | None = None
    snapshot: int = 0
    read: int = 0
    splits: int = 0
    commit: str = ""
    files: str = ""

    @classmethod
    def beginning(cls, table: str, origin: Origin | None) -> Offset:
        """Return the offset of a query that has read nothing."""
        return cls(table=table, origin=origin, snapshot=0 if origin is None else origin.snapshot)

    @classmethod
    def of(cls, json: Mapping[str, Any]) -> Offset:
        """Parse the offset in a checkpoint.

        Raises:
            InvalidInputError: the offset is not valid for this version.
        """
        if json.keys() != _KEYS or json["version"] != _VERSION:
            message = (
                f"the checkpoint of the query holds {dict(json)!r}, which is not an offset of this version; start the "
                "query with a new checkpoint"
            )
            raise InvalidInputError(message)
        begins = json["first"]
        return cls(
            table=json["table"],
            origin=Origin(snapshot=begins, is_state=json["full"]) if begins else None,
            **{key: json[key] for key in ("snapshot", "read", "splits", "commit", "files")},
        )

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form that Spark stores: numbers, texts and booleans."""
        return {
            "snapshot": self.snapshot,
            "read": self.read,
            "splits": self.splits,
            "first": 0 if self.origin is None else self.origin.snapshot,
            "full": self.origin is not None and self.origin.is_state,
            "table": self.table,
            "commit": self.commit,
            "files": self.files,
            "version": _VERSION,
        }

    def after(self, snapshot: Snapshot, splits: Sequence[DataSplit], read: int) -> Offset:
        """Return the offset after ``read`` splits of a snapshot were read."""
        return replace(
            self,
            snapshot=snapshot.id,
            read=read,
            splits=len(splits),
            commit=commit_digest(snapshot),
            files=files_digest(splits[:read]),
        )

    @property
    def has_begun(self) -> bool:
        """Whether anything was read."""
        return bool(self.commit)

    @property
    def is_complete(self) -> bool:
        """Whether the snapshot was read completely."""
        return self.has_begun and self.read == self.splits

    @property
    def is_in_state(self) -> bool:
        """Whether the query begins with the state of this snapshot."""
        return self.origin is not None and self.origin.is_state and self.snapshot == self.origin.snapshot

    @property
    def next_snapshot(self) -> int:
        """The snapshot to read next: the same one if it has unread splits."""
        return self.snapshot + self.is_complete


def commit_digest(snapshot: Snapshot) -> str:
    """Return a digest that distinguishes snapshots with the same id; file names are never reused."""
    return _digest((snapshot.delta_manifest_list,))


def files_digest(splits: Sequence[DataSplit]) -> str:
    """Return a digest of these splits; empty if there are none."""
    names = [file.file_name for split in splits for file in (*split.before_files, *split.files)]
    return _digest(names) if names else ""


def table_digest(identity: str | None) -> str:
    """Return a digest of the identity of a table."""
    return (identity or "")[:_DIGITS]


def _digest(names: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:_DIGITS]
