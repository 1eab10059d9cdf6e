"""Procedures for tags, branches and rollback."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

import pyarrow as pa

from table_format.errors import InvalidInputError, SnapshotNotFound
from table_format.metastore.history.rollback import RollbackReport
from table_format.model.arrow_calls import schema
from table_format.model.snapshot import NO_WATERMARK, shown_time
from table_format.procedures.arguments import DURATION, FLAG, INSTANT, NAMES, OPTIONS, TEXT, WHOLE, Argument, required
from table_format.procedures.declare import TABLE, Call, Procedure, Row, done
from table_format.table.table import Table

_TAG: Final = required("tag", TEXT, "The name of the tag.")
_SNAPSHOT: Final = Argument("snapshot", WHOLE, "The id of the snapshot; by default the latest.")
_TIME_RETAINED: Final = Argument("time_retained", DURATION, "How long the tag is kept; by default forever.")
_BRANCH: Final = required("branch", TEXT, "The name of the branch.")
_ROLLED_BACK: Final = pa.schema(
    [
        pa.field("previous_snapshot_id", pa.int64(), nullable=False),
        pa.field("current_snapshot_id", pa.int64(), nullable=False),
    ]
)


def _create_tag(call: Call) -> None:
    call.table().create_tag(call["tag"], call["snapshot"], time_retained_ms=call["time_retained"])


def _create_tag_from_timestamp(call: Call) -> Iterable[Row]:
    table, time_ms = call.table(), call["timestamp"]
    kept = [*table.snapshots(), *(tag.snapshot for tag in table.tags().values())]
    later = [snapshot for snapshot in kept if snapshot.time_millis >= time_ms]
    if not later:
        message = f"table {table.identifier} has no snapshot with a commit time of {shown_time(time_ms)} or later"
        raise SnapshotNotFound(message)
    found = min(later, key=lambda snapshot: (snapshot.time_millis, snapshot.id))
    table.create_tag(call["tag"], found.id, time_retained_ms=call["time_retained"])
    watermark = None if found.watermark is None else str(found.watermark)
    return [(call["tag"], found.id, found.time_millis, watermark)]


def _replace_tag(call: Call) -> None:
    call.table().replace_tag(call["tag"], call["snapshot"], time_retained_ms=call["time_retained"])


def missing_first(names: Sequence[str], known: Collection[str]) -> Sequence[str]:
    """Return the names that do not exist before the others, so that their error comes before anything is deleted.

    >>> missing_first(["a", "b"], ["a"])
    ['b', 'a']
    """
    return sorted(names, key=lambda name: name in known)


def _delete_tags(call: Call) -> None:
    table = call.table()
    for name in missing_first(call["tag"], table.tags()):
        table.delete_tag(name)


def _create_branch(call: Call) -> None:
    call.table().create_branch(call["branch"], tag=call["tag"], ignore_if_exists=call["ignoreIfExists"])


def _delete_branches(call: Call) -> None:
    table = call.table()
    for name in missing_first(call["branch"], table.branches()):
        table.delete_branch(name)


def _rollback(call: Call) -> Iterable[Row]:
    given = {name: call[name] for name in ("version", "snapshot", "tag") if call[name] is not None}
    if len(given) != 1:
        found = ", ".join(given) or "none"
        message = f"procedure 'rollback': expected one of the arguments version, snapshot and tag, found {found}"
        raise InvalidInputError(message)
    ((name, target),) = given.items()
    if name == "version" and target.isdigit():
        target = int(target)
    table = call.table()
    before = _latest(table)
    return _rolled_back(before, table.rollback_to(target))


def _rollback_to_timestamp(call: Call) -> Iterable[Row]:
    table = call.table()
    before = _latest(table)
    return _rolled_back(before, table.rollback_to_timestamp(call["timestamp"]))


def _rollback_to_watermark(call: Call) -> Iterable[Row]:
    table = call.table()
    before = _latest(table)
    # Engines without watermarks write the smallest possible number.
    marks = {s.id: s.watermark for s in table.snapshots() if s.watermark is not None and s.watermark != NO_WATERMARK}
    reached = [snapshot_id for snapshot_id, watermark in marks.items() if watermark <= call["watermark"]]
    if not reached:
        found = f"the lowest is {min(marks.values())}" if marks else "none of its snapshots has a watermark"
        message = f"table {table.identifier} has no snapshot with a watermark of at most {call['watermark']}; {found}"
        raise SnapshotNotFound(message)
    return _rolled_back(before, table.rollback_to(max(reached)))


def _rollback_before(call: Call) -> Iterable[Row]:
    table = call.table()
    before = _latest(table)
    commits = {"commit_user": call["commit_user"], "properties": call["properties"]}
    if call["dry_run"]:
        return [(before, table.plan_rollback_before(**commits).target.id)]
    return _rolled_back(before, table.rollback_before(**commits, including_others=call["including_others"]))


def _latest(table: Table) -> int:
    latest = table.latest_snapshot()
    if latest is None:
        message = f"table {table.identifier} has no snapshot to roll back from"
        raise SnapshotNotFound(message)
    return latest.id


def _rolled_back(before: int, report: RollbackReport) -> Iterable[Row]:
    return [(before, report.snapshot.id)]


CREATE_TAG: Final = Procedure(
    "create_tag", "Create a tag, which keeps a snapshot.", (TABLE, _TAG, _SNAPSHOT, _TIME_RETAINED), done(_create_tag)
)
CREATE_TAG_FROM_TIMESTAMP: Final = Procedure(
    "create_tag_from_timestamp",
    "Create a tag of the first snapshot that was committed at or after a time.",
    (TABLE, _TAG, required("timestamp", INSTANT, "The time."), _TIME_RETAINED),
    _create_tag_from_timestamp,
    schema(
        [
            ("tagName", pa.string()),
            ("snapshot", pa.int64()),
            ("commit_time", pa.int64()),
            ("watermark", pa.string()),
        ]
    ),
)
REPLACE_TAG: Final = Procedure(
    "replace_tag", "Replace the snapshot of a tag.", (TABLE, _TAG, _SNAPSHOT, _TIME_RETAINED), done(_replace_tag)
)
RENAME_TAG: Final = Procedure(
    "rename_tag",
    "Rename a tag.",
    (TABLE, _TAG, required("target_tag", TEXT, "The new name.")),
    done(lambda call: call.table().rename_tag(call["tag"], call["target_tag"])),
)
DELETE_TAG: Final = Procedure(
    "delete_tag",
    "Delete tags and the files that only they need.",
    (TABLE, required("tag", NAMES, "The names of the tags.")),
    done(_delete_tags),
)
TRIGGER_TAG_AUTOMATIC_CREATION: Final = Procedure(
    "trigger_tag_automatic_creation",
    "Create the tags that are due according to 'tag.automatic-creation'.",
    (TABLE,),
    done(lambda call: call.table().create_automatic_tags()),
)
CREATE_BRANCH: Final = Procedure(
    "create_branch",
    "Create a branch, from the snapshot of a tag or without rows.",
    (
        TABLE,
        _BRANCH,
        Argument("tag", TEXT, "The tag whose snapshot the branch starts with."),
        Argument("ignoreIfExists", FLAG, "Do nothing if a branch of that name exists.", default=False),
    ),
    done(_create_branch),
)
DELETE_BRANCH: Final = Procedure(
    "delete_branch",
    "Delete branches and the files that only they need.",
    (TABLE, required("branch", NAMES, "The names of the branches.")),
    done(_delete_branches),
)
RENAME_BRANCH: Final = Procedure(
    "rename_branch",
    "Rename a branch.",
    (TABLE, required("from_branch", TEXT, "The old name."), required("to_branch", TEXT, "The new name.")),
    done(lambda call: call.table().rename_branch(call["from_branch"], call["to_branch"])),
)
FAST_FORWARD: Final = Procedure(
    "fast_forward",
    "Replace the state of a table with that of a branch.",
    (TABLE, _BRANCH),
    done(lambda call: call.table().fast_forward(call["branch"])),
)
ROLLBACK: Final = Procedure(
    "rollback",
    "Make an earlier snapshot the latest, and delete later snapshots.",
    (
        TABLE,
        Argument("version", TEXT, "The id of the snapshot, or the name of a tag."),
        Argument("snapshot", WHOLE, "The id of the snapshot."),
        Argument("tag", TEXT, "The name of the tag."),
    ),
    _rollback,
    _ROLLED_BACK,
)
ROLLBACK_TO_TIMESTAMP: Final = Procedure(
    "rollback_to_timestamp",
    "Make the last snapshot that was committed at or before a time the latest, and delete later snapshots.",
    (TABLE, required("timestamp", INSTANT, "The time.")),
    _rollback_to_timestamp,
    _ROLLED_BACK,
)
ROLLBACK_TO_WATERMARK: Final = Procedure(
    "rollback_to_watermark",
    "Make the last snapshot with a watermark of at most a value the latest, and delete later snapshots.",
    (TABLE, required("watermark", WHOLE, "The watermark.")),
    _rollback_to_watermark,
    _ROLLED_BACK,
)
ROLLBACK_BEFORE: Final = Procedure(
    "rollback_before",
    "Make the snapshot before the first commit of a job the latest, and delete later snapshots.",
    (
        TABLE,
        Argument("properties", OPTIONS, "Properties of the job's commits, such as 'dagster.run_id=r1'."),
        Argument("commit_user", TEXT, "The user of the job's commits."),
        Argument("including_others", FLAG, "Whether later commits of others may be rolled back too.", default=False),
        Argument("dry_run", FLAG, "Only report which snapshot would be the latest.", default=False),
    ),
    _rollback_before,
    _ROLLED_BACK,
)
