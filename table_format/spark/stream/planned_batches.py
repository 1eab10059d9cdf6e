"""Notices that a committed micro-batch is planned again with other rows, as with an older copy of a checkpoint.

Spark writes its plan of a micro-batch, the offsets of the sources, to a file of the checkpoint before it runs the
micro-batch, and keeps the file when it repeats it. Without this file, it plans new rows under a number that may be
committed. A commit would skip them, and they would be lost.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from table_format.errors import InvalidInputError
from table_format.io.regular_files import read_file
from table_format.model.snapshot import Snapshot
from table_format.spark.stream.commit_users import local_checkpoint
from table_format.table.facts import TableFacts

PLAN: Final = "spark.micro-batch.plan"
"""The property of a snapshot with the digest of the plan of its micro-batch."""

_DIGEST_BYTES: Final = 16


def plan_properties(checkpoint: str, number: int) -> dict[str, str]:
    """Return the properties of the commit of a micro-batch; none if the checkpoint is in a store of Spark alone."""
    place = local_checkpoint(checkpoint)
    if place is None:
        return {}
    files, directory = place
    try:
        plan = read_file(files, f"{directory}/offsets/{number}")
    except OSError:
        return {}
    return {PLAN: blake2b(plan, digest_size=_DIGEST_BYTES).hexdigest()}


def committed_before(facts: TableFacts, commit_user: str, number: int, checkpoint: str) -> Snapshot | None:
    """Return the snapshot of a micro-batch that was committed before; ``None`` if it had nothing to commit.

    Call this if a commit made no snapshot.

    Raises:
        InvalidInputError: the number is committed with other rows. The rows of the micro-batch are not written.
    """
    latest_id = facts.snapshots.latest_id() or 0
    committed, _ = facts.snapshots.newest(lambda snapshot: snapshot.commit_user == commit_user, up_to=latest_id)
    if committed is None or committed.commit_identifier < number:
        return None
    stated, planned = (committed.properties or {}).get(PLAN), plan_properties(checkpoint, number).get(PLAN)
    is_repetition = stated is None or planned is None or stated == planned
    if committed.commit_identifier == number and is_repetition:
        return committed
    message = (
        f"{facts.name}: micro-batch {number} of the query with the commit user '{commit_user}' is already committed; "
        f"the last committed one is {committed.commit_identifier}. The checkpoint {checkpoint} is an older copy or "
        "lacks files, so that this micro-batch may have other rows. Restore the latest checkpoint, or start with a new "
        "one from the rows that the table lacks"
    )
    raise InvalidInputError(message)
