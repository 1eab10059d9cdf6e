"""Notes in the checkpoint of a query which table it writes, and the last snapshot with its rows.

The checkpoint says which rows of the source are written, but not whether the table still has them: the table may have
been rolled back, or dropped and created again, before the query starts again. The note outlives such changes. A
checkpoint in a store that only Spark can read has no note.
"""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Final

from table_format.errors import CorruptionError
from table_format.io.regular_files import read_file
from table_format.model.split import SnapshotRef
from table_format.spark.stream.commit_users import local_checkpoint

NOTE: Final = "paimon-target"
"""The file of the checkpoint. Spark reads only files that it has written."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetNote:
    """A table, by the digest of its first schema, and the snapshot of a micro-batch of the query."""

    commit_user: str
    table: str
    identity: str | None
    branch: str
    batch: int
    snapshot_id: int
    delta_manifest_list: str

    @property
    def snapshot(self) -> SnapshotRef:
        """The snapshot."""
        return SnapshotRef(self.snapshot_id, self.delta_manifest_list)


def read_note(checkpoint: str, commit_user: str) -> TargetNote | None:
    """Return the note of the query; ``None`` if there is none that can be read.

    A note of another query, which had the directory before, does not count.
    """
    place = local_checkpoint(checkpoint)
    if place is None:
        return None
    files, directory = place
    with suppress(OSError, ValueError, TypeError, CorruptionError):
        note = TargetNote(**json.loads(read_file(files, f"{directory}/{NOTE}")))
        return note if note.commit_user == commit_user else None
    return None


def write_note(checkpoint: str, note: TargetNote) -> None:
    """Replace the note. The query also continues if this fails: then a later loss may not be noticed."""
    place = local_checkpoint(checkpoint)
    if place is None:
        return
    files, directory = place
    try:
        files.overwrite(f"{directory}/{NOTE}", json.dumps(asdict(note)).encode())
    except OSError as error:
        _log.warning(
            "%s/%s cannot be written, so a rollback of %s may not be noticed: %s", directory, NOTE, note.table, error
        )
