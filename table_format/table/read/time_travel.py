"""Which snapshot a scan reads, and in which schema (format chapter 13, "Scan"; Java ``TimeTravelUtil``).

Without a starting point, the latest snapshot is read with the latest schema. A named snapshot is read with its own
schema. A mode that searches for a snapshot, such as the last compacted one, uses the latest schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from table_format.errors import InvalidOption, SnapshotExpired, SnapshotNotFound, TableFormatError
from table_format.metastore.references.expired_reads import READ_ANOTHER
from table_format.metastore.references.tag_store import TagStore
from table_format.model.data_file import DataFileMeta
from table_format.model.schema import TableSchema
from table_format.model.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind, Snapshot
from table_format.options.compaction import FULL_COMPACTION_DELTA_COMMITS
from table_format.options.scan import TIMESTAMP, ScanOptions
from table_format.options.startup import StartupMode, startup_mode
from table_format.options.stream import ChangelogProducer
from table_format.table.facts import TableFacts

NO_WATERMARK: Final = -(1 << 63)
_WATERMARK_VERSION: Final = "watermark-"

_LOCAL_EPOCH: Final = datetime(1970, 1, 1)
"""A wall-clock time, as in the metadata of files."""


@dataclass(frozen=True, slots=True)
class Starting:
    """The snapshot to read (``None`` if the table has none), and the schema of the result.

    Only files created at or after ``files_since_ms`` are read. ``written`` is the schema of the snapshot, as it was
    when the snapshot was found. It is required if the snapshot is planned later: a fast-forward may replace schemas.
    """

    snapshot: Snapshot | None
    schema: TableSchema
    files_since_ms: int | None = None
    written: TableSchema | None = None

    def is_wanted(self, file: DataFileMeta) -> bool:
        """Return whether a file was created late enough. A file without a creation time counts as late enough."""
        if self.files_since_ms is None or file.creation_time is None:
            return True
        local = _LOCAL_EPOCH + timedelta(milliseconds=file.creation_time)
        return local.timestamp() * 1000 >= self.files_since_ms


def checked_starting_point(facts: TableFacts) -> Starting:
    """Return the starting point that the scan options name, of the table with the schemas that it has now.

    Raises:
        SchemaChanged: a fast-forward has replaced the schema of the table since it was loaded.
        TableNotFound, TableReplaced: the table was dropped.
        NotFoundError, InvalidOption: as for ``starting_point``.
    """
    with requiring_same_schema(facts):
        return with_schema_of_snapshot(facts, starting_point(facts))


@contextmanager
def requiring_same_schema(facts: TableFacts) -> Iterator[None]:
    """Refuse what the block has found if the table or its schema was replaced before or meanwhile."""
    try:
        yield
    except TableFormatError:
        facts.require_same_schema()  # a table that is gone has no snapshot either
        raise
    facts.require_same_schema()


def with_schema_of_snapshot(facts: TableFacts, start: Starting) -> Starting:
    """Return the starting point with the schema of its snapshot.

    Raises:
        SnapshotExpired: the snapshot was removed meanwhile, so that the schema may be that of a fast-forward.
    """
    snapshot = start.snapshot
    if snapshot is None or start.written is not None:
        return start
    is_newer = snapshot.schema_id > facts.schema.id
    if is_newer:
        facts.require_same_schema()  # so that schemas that were replaced are not known any more
    written = facts.schemas[snapshot.schema_id]
    # The callers look at the schema of the table, and thereby at all before it.
    if is_newer and facts.snapshots.has_removed(snapshot):
        message = f"snapshot {snapshot.id} of {facts.name} was removed {READ_ANOTHER}"
        raise SnapshotExpired(message)
    return replace(start, written=written)


def starting_point(facts: TableFacts) -> Starting:
    """Return the starting point that the scan options name.

    Raises:
        SnapshotNotFound: the snapshot does not exist, or there is none that early.
        SnapshotExpired: the snapshot has been expired.
        TagNotFound: the tag does not exist.
        InvalidOption: the options contradict each other.
    """
    scan = facts.options.scan
    mode = startup_mode(facts.options.raw)
    named = named_snapshot(scan, facts)
    if named is not None:
        return Starting(named, facts.schemas[named.schema_id])
    if mode is StartupMode.COMPACTED_FULL:
        return Starting(last_compacted(facts), facts.schema)
    if mode is StartupMode.FROM_FILE_CREATION_TIME:
        return Starting(facts.snapshots.latest(), facts.schema, scan.file_creation_time_ms)
    if mode is StartupMode.FROM_CREATION_TIMESTAMP and scan.creation_time_ms is not None:
        first = first_committed_since(facts, scan.creation_time_ms)
        if first is None:
            return Starting(facts.snapshots.latest(), facts.schema, scan.creation_time_ms)
        return Starting(first, facts.schema)
    return Starting(facts.snapshots.latest(), facts.schema)


def last_compacted(facts: TableFacts) -> Snapshot | None:
    """Return the last retained snapshot of a compaction, or the latest one if there is none.

    With ``full-compaction.delta-commits``, it must be a full compaction, which its commit identifier shows.
    """
    commits = FULL_COMPACTION_DELTA_COMMITS.read(facts.options.raw)
    if facts.options.stream.changelog_producer is ChangelogProducer.FULL_COMPACTION:
        commits = commits or 1
    for snapshot_id in reversed(facts.snapshots.ids()):
        snapshot = facts.snapshots.find(snapshot_id)
        if snapshot is None or snapshot.commit_kind is not CommitKind.COMPACT:
            continue
        identifier = snapshot.commit_identifier
        if commits is None or identifier % commits == 0 or identifier == BATCH_COMMIT_IDENTIFIER:
            return snapshot
    return facts.snapshots.latest()


def first_committed_since(facts: TableFacts, time_ms: int) -> Snapshot | None:
    """Return the first snapshot committed at or after a time, if the one before it is known to be earlier."""
    before = facts.snapshots.before(time_ms)
    return None if before is None else facts.snapshots.find(before.id + 1)


def of_watermark(facts: TableFacts, watermark: int) -> Snapshot:
    """Return the first snapshot whose watermark is at least this.

    Raises:
        SnapshotNotFound: no retained snapshot has a watermark this high.
    """
    highest = None
    for snapshot_id in facts.snapshots.ids():
        snapshot = facts.snapshots.find(snapshot_id)
        # Engines without watermarks write the smallest possible number.
        if snapshot is None or snapshot.watermark is None or snapshot.watermark == NO_WATERMARK:
            continue
        if snapshot.watermark >= watermark:
            return snapshot
        highest = snapshot.watermark
    known = "none has a watermark" if highest is None else f"the highest is {highest}"
    message = f"no snapshot has a watermark of {watermark} or more; {known}"
    raise SnapshotNotFound(message)


def named_snapshot(scan: ScanOptions, facts: TableFacts) -> Snapshot | None:
    """Return the time-travel snapshot of the scan options; ``None`` if they name none."""
    if scan.snapshot_id is not None:
        return facts.snapshots.load(scan.snapshot_id)
    if scan.tag_name is not None:
        return TagStore(facts.store).load(scan.tag_name).snapshot
    if scan.timestamp_ms is not None:
        return facts.snapshots.at_or_before(scan.timestamp_ms)
    if scan.timestamp is not None:
        return facts.snapshots.at_or_before(epoch_ms(TIMESTAMP.key, scan.timestamp))
    if scan.watermark is not None:
        return of_watermark(facts, scan.watermark)
    if scan.version is not None:
        return _version(scan.version, facts)
    return None


def _version(version: str, facts: TableFacts) -> Snapshot:
    tags = TagStore(facts.store)
    if version in tags.names():
        return tags.load(version).snapshot
    watermark = version.removeprefix(_WATERMARK_VERSION)
    if watermark != version and watermark.isascii() and watermark.isdigit():
        return of_watermark(facts, int(watermark))
    if version.isascii() and version.isdigit():
        return facts.snapshots.load(int(version))
    message = f"'{version}' is neither a tag nor the id of a snapshot; {tags.known_names()}"
    raise SnapshotNotFound(message)


def epoch_ms(key: str, text: str) -> int:
    """Return a local date and time in milliseconds since 1970.

    Raises:
        InvalidOption: the text is not a date and time; names the option ``key``.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidOption(key, f"{text!r} is not a date and time such as '2026-01-31 12:00:00'") from error
    # Without zone it is the local time of the machine, as in the reference.
    return int(moment.timestamp() * 1000)
