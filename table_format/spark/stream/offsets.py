"""The position of a streaming query, as Spark keeps it in checkpoints and shows it in the progress of the query.

All snapshots before the one that is named have been read, and some of its splits. An offset also says which table,
which snapshot and which splits these were: after a rollback, or when another table was made in its place, ids are used
again. The snapshot that the query began with is in every offset: Spark does not keep where a query began that has not
finished a micro-batch yet.
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
    """The snapshot that a query begins with: with its state if ``is_state``, else with its changes."""

    snapshot: int
    is_state: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Offset:
    """So many of the ``splits`` of a snapshot were ``read``, and all of the snapshots before it.

    Without ``origin`` there is no snapshot to begin with yet. ``table`` is the identity of the table, ``commit`` that
    of the snapshot, ``files`` that of the splits that were read; ``commit`` and ``files`` are empty at the beginning.

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
        """The offset of a query that has read nothing."""
        return cls(table=table, origin=origin, snapshot=0 if origin is None else origin.snapshot)

    @classmethod
    def of(cls, json: Mapping[str, Any]) -> Offset:
        """The offset that a checkpoint holds.

        Raises:
            InvalidInputError: it was not written by this version for a table.
        """
        if json.keys() != _KEYS or json["version"] != _VERSION:
            message = (
                f"the checkpoint of the query holds {dict(json)!r}, which is no offset of this version; start the "
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
        """The offset when so many splits of a snapshot were read."""
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
        """Whether something was read."""
        return bool(self.commit)

    @property
    def is_complete(self) -> bool:
        """Whether all of the snapshot was read."""
        return self.has_begun and self.read == self.splits

    @property
    def is_in_state(self) -> bool:
        """Whether the snapshot is the one whose state the query begins with."""
        return self.origin is not None and self.origin.is_state and self.snapshot == self.origin.snapshot

    @property
    def next_snapshot(self) -> int:
        """The snapshot that is read next, or of which splits are left."""
        return self.snapshot + self.is_complete


def commit_digest(snapshot: Snapshot) -> str:
    """Return a digest that distinguishes snapshots with the same id; file names are never reused."""
    return _digest((snapshot.delta_manifest_list,))


def files_digest(splits: Sequence[DataSplit]) -> str:
    """Return a digest of these splits; empty if there are none."""
    names = [file.file_name for split in splits for file in (*split.before_files, *split.files)]
    return _digest(names) if names else ""


def table_digest(identity: str | None) -> str:
    """The identity of a table, shortened."""
    return (identity or "")[:_DIGITS]


def _digest(names: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:_DIGITS]
