"""Which snapshot a scan reads, and in which schema (format chapter 13, "Scan"; Java ``TimeTravelUtil``).

Without a starting point the latest snapshot is read in the latest schema; a snapshot that is named is read in its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from table_format.errors import InvalidOption, SnapshotNotFound
from table_format.metastore.tags import TagStore
from table_format.model.schema import TableSchema
from table_format.model.snapshot import Snapshot
from table_format.options.scan import MODE, SNAPSHOT_ID, TIME_TRAVEL, TIMESTAMP, TIMESTAMP_MILLIS, ScanOptions
from table_format.table.facts import TableFacts

_NEEDED = {
    "from-timestamp": (TIMESTAMP_MILLIS, TIMESTAMP),
    "from-snapshot": (SNAPSHOT_ID, *(o for o in TIME_TRAVEL if o not in (SNAPSHOT_ID, TIMESTAMP_MILLIS, TIMESTAMP))),
    "from-snapshot-full": (SNAPSHOT_ID,),
}


@dataclass(frozen=True, slots=True)
class Starting:
    """The snapshot to read, none for a table without any, and the schema to show its rows in."""

    snapshot: Snapshot | None
    schema: TableSchema


def starting_point(facts: TableFacts) -> Starting:
    """What the scan options name.

    Raises:
        SnapshotNotFound: there is no such snapshot, or none that early.
        SnapshotExpired: the snapshot has been expired.
        TagNotFound: there is no such tag.
        InvalidOption: the options contradict each other.
    """
    scan = facts.options.scan
    _check(scan, facts)
    named = _named_snapshot(scan, facts)
    if named is None:
        return Starting(facts.snapshots.latest(), facts.schema)
    return Starting(named, facts.schemas[named.schema_id])


def _named_snapshot(scan: ScanOptions, facts: TableFacts) -> Snapshot | None:
    if scan.snapshot_id is not None:
        return facts.snapshots.load(scan.snapshot_id)
    if scan.tag_name is not None:
        return TagStore(facts.store).load(scan.tag_name).snapshot
    if scan.timestamp_ms is not None:
        return facts.snapshots.at_or_before(scan.timestamp_ms)
    if scan.timestamp is not None:
        return facts.snapshots.at_or_before(_epoch_ms(scan.timestamp))
    if scan.version is not None:
        return _version(scan.version, facts)
    return None


def _version(version: str, facts: TableFacts) -> Snapshot:
    tags = TagStore(facts.store)
    if version in tags.names():
        return tags.load(version).snapshot
    if version.isascii() and version.isdigit():
        return facts.snapshots.load(int(version))
    message = f"'{version}' is neither a tag nor the id of a snapshot; the tags are {', '.join(tags.names()) or 'none'}"
    raise SnapshotNotFound(message)


def _epoch_ms(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidOption(TIMESTAMP.key, f"{text!r} is no date and time such as '2026-01-31 12:00:00'") from error
    # Without zone it is the local time of the machine, as in the reference.
    return int(moment.timestamp() * 1000)


def _check(scan: ScanOptions, facts: TableFacts) -> None:
    raw = facts.options.raw
    given = [option for option in TIME_TRAVEL if any(key in raw for key in option.keys)]
    if len(given) > 1:
        message = f"may not be given together with {', '.join(o.key for o in given[1:])}: a scan has one starting point"
        raise InvalidOption(given[0].key, message)
    needed = _NEEDED.get(scan.mode)
    if needed is not None and not any(option in given for option in needed):
        raise InvalidOption(MODE.key, f"'{scan.mode}' needs one of {', '.join(o.key for o in needed)}")
