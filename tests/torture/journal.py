"""What changes of history are about to do, written down before: a kill in the middle is understood afterwards.

A change removes commits, perhaps before the observer has seen them. So an entry also says what the history was.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

from table_format import Table
from table_format.metastore.commit.key_places import snapshot_identity
from table_format.model.snapshot import CommitKind, Snapshot


@dataclass(frozen=True, slots=True)
class Commit:
    """What the model needs to know of a snapshot. Ids come again after a rollback, names do not."""

    id: int
    name: str
    user: str
    identifier: int
    kind: str
    properties: Mapping[str, str]

    @classmethod
    def of(cls, snapshot: Snapshot) -> Self:
        """What a snapshot says."""
        properties = {key: value for key, value in snapshot.properties.items() if key.startswith("torture.")}
        return cls(
            snapshot.id,
            snapshot_identity(snapshot),
            snapshot.commit_user,
            snapshot.commit_identifier,
            snapshot.commit_kind.value,
            properties,
        )

    @property
    def writer(self) -> int | None:
        """The writer whose job it is; ``None`` if it changes no row."""
        user = self.user
        is_job = user.startswith("w") and user[1:].isdigit() and self.kind != CommitKind.COMPACT.value
        return int(user[1:]) if is_job else None


def commits_of(table: Table) -> tuple[Commit, ...]:
    """The history of a table or branch, as far as it is retained."""
    return tuple(map(Commit.of, table.snapshots()))


@dataclass(frozen=True, slots=True)
class Change:
    """A rollback or fast-forward that begins, or has ended.

    ``argument`` is a snapshot, a tag or a branch, and ``target`` what is the latest snapshot afterwards. ``progress``
    says which jobs of each writer were acknowledged.
    """

    number: int
    action: str
    argument: int | str
    target: Commit
    history: tuple[Commit, ...] = ()
    source: tuple[Commit, ...] = ()
    progress: Mapping[int, int] = field(default_factory=dict)
    is_ended: bool = False
    is_refused: bool = False


class Journal:
    """The changes of the history of one table, in order, and the progress of its writers."""

    def __init__(self, directory: str) -> None:
        self._path = Path(directory) / "journal"
        self._directory = Path(directory)

    def write(self, change: Change) -> None:
        """Add an entry. Half an entry of a process that died does not count."""
        with self._path.open("a") as file:
            file.write("\n" + json.dumps(asdict(change)) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def changes(self) -> Sequence[Change]:
        """All entries."""
        return [_change(text) for text in self._texts()]

    def unfinished(self) -> Change | None:
        """The last change, if it has not ended."""
        found = self.changes()
        return found[-1] if found and not found[-1].is_ended else None

    def note_progress(self, who: int, number: int) -> None:
        """Say that a job is done."""
        draft = self._directory / f"progress-{who}.draft"
        draft.write_text(str(number))
        draft.replace(self._directory / f"progress-{who}")

    def progress(self) -> dict[int, int]:
        """The last job that each writer has done."""
        files = (path for path in self._directory.glob("progress-*") if path.suffix != ".draft")
        return {int(path.name.removeprefix("progress-")): int(path.read_text()) for path in files}

    def _texts(self) -> Sequence[str]:
        if not self._path.exists():
            return []
        return [line for line in self._path.read_text().split("\n") if line.endswith("}") and _is_whole(line)]


def _is_whole(text: str) -> bool:
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return False
    return True


def _change(text: str) -> Change:
    facts = json.loads(text)
    facts["target"] = Commit(**facts["target"])
    for member in ("history", "source"):
        facts[member] = tuple(Commit(**commit) for commit in facts[member])
    facts["progress"] = {int(who): number for who, number in facts["progress"].items()}
    return Change(**facts)
