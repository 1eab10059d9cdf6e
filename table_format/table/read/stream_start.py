"""Where a stream begins: with a state of the table, or with the changes of a snapshot (Java ``StartingScanner``)."""

from __future__ import annotations

from table_format.errors import InvalidOption, SnapshotNotFound
from table_format.metastore.snapshot.changelog_store import ChangeHistory
from table_format.model.snapshot import FIRST_SNAPSHOT_ID, Snapshot
from table_format.options.scan import MODE, TAG_NAME, VERSION, WATERMARK
from table_format.options.startup import StartupMode, startup_mode
from table_format.options.stream import APPEND_OVERWRITE, CHANGELOG_PRODUCER, OVERWRITE, ChangelogProducer
from table_format.table.facts import TableFacts
from table_format.table.read.time_travel import Starting, epoch_ms, first_committed_since, last_compacted


def stream_mode(facts: TableFacts) -> StartupMode:
    """Return the start mode that the options name.

    Raises:
        InvalidOption: a stream cannot start that way.
    """
    mode = startup_mode(facts.options.raw)
    scan, stream = facts.options.scan, facts.options.stream
    if mode is StartupMode.INCREMENTAL:
        raise InvalidOption(MODE.key, "a stream has no end: 'incremental' is for batch scans")
    for option, value in ((TAG_NAME, scan.tag_name), (WATERMARK, scan.watermark)):
        if value is not None:
            raise InvalidOption(option.key, f"a stream starts at a snapshot or a time, not at {value!r}")
    if scan.version is not None and not (scan.version.isascii() and scan.version.isdigit()):
        raise InvalidOption(VERSION.key, f"a stream starts at a snapshot or a time, not at {scan.version!r}")
    if stream.overwrite and not facts.schema.is_primary_key_table:
        message = f"has no effect without a primary key; {APPEND_OVERWRITE.key} is the option of append tables"
        raise InvalidOption(OVERWRITE.key, message)
    if stream.overwrite and stream.changelog_producer in (ChangelogProducer.LOOKUP, ChangelogProducer.FULL_COMPACTION):
        message = f"the changelog of {CHANGELOG_PRODUCER.key}={stream.changelog_producer} already has these changes"
        raise InvalidOption(OVERWRITE.key, message)
    return mode


def starting_id(facts: TableFacts, changes: ChangeHistory, mode: StartupMode, latest_id: int | None) -> int | None:
    """Return the first snapshot of a stream in a mode without an initial state; ``None`` if there is none yet.

    ``latest_id`` was the latest snapshot when the stream was opened.

    Raises:
        SnapshotNotFound: the options name a snapshot after the next one.
    """
    scan = facts.options.scan
    match mode:
        case StartupMode.LATEST:
            return (latest_id or 0) + 1
        case StartupMode.FROM_TIMESTAMP:
            time_ms = scan.timestamp_ms if scan.timestamp_ms is not None else epoch_ms(MODE.key, scan.timestamp or "")
            return _first_since(facts, changes, time_ms)
        case _:
            wanted = scan.snapshot_id or int(scan.version or FIRST_SNAPSHOT_ID)
            latest = facts.snapshots.latest_id()
            if latest is not None and wanted > latest + 1:
                message = f"{facts.name}: a stream cannot begin with snapshot {wanted}; the latest is {latest}"
                raise SnapshotNotFound(message)
            return not_before_earliest(changes, wanted)


def starting_state(facts: TableFacts, mode: StartupMode) -> Starting | int | None:
    """Return the initial state of a stream, or the snapshot with its first changes; ``None`` if there is no snapshot
    yet.
    """
    snapshots, scan = facts.snapshots, facts.options.scan
    if mode is StartupMode.COMPACTED_FULL:
        return Starting(last_compacted(facts), facts.schema)
    if mode is StartupMode.FROM_SNAPSHOT_FULL:
        earliest = snapshots.earliest_id()
        wanted = None if earliest is None else snapshots.load(max(scan.snapshot_id or 0, earliest))
        return Starting(wanted, facts.schema)
    if mode is StartupMode.FROM_CREATION_TIMESTAMP and scan.creation_time_ms is not None:
        first = first_committed_since(facts, scan.creation_time_ms)
        if first is not None:
            return first.id
    return state_of(facts, mode, snapshots.latest())


def state_of(facts: TableFacts, mode: StartupMode, snapshot: Snapshot | None) -> Starting:
    """The state of a snapshot as a stream of that mode begins with it."""
    match mode:
        case StartupMode.FROM_FILE_CREATION_TIME:
            since_ms = facts.options.scan.file_creation_time_ms
        case StartupMode.FROM_CREATION_TIMESTAMP:
            since_ms = facts.options.scan.creation_time_ms
        case _:
            since_ms = None
    return Starting(snapshot, facts.schema, since_ms)


def not_before_earliest(changes: ChangeHistory, snapshot_id: int) -> int | None:
    """Return the snapshot or, if later, the earliest one whose changes remain; ``None`` if there is none."""
    earliest = changes.earliest_id()
    return None if earliest is None else max(snapshot_id, earliest)


def _first_since(facts: TableFacts, changes: ChangeHistory, time_ms: int) -> int | None:
    latest, earliest = facts.snapshots.latest_id(), changes.earliest_id()
    if latest is None or earliest is None:
        return None
    # Times increase with ids; the first one that is late enough may not exist yet.
    low, high = earliest, latest + 1
    while low < high:
        middle = (low + high) // 2
        found = changes.find(middle)
        if found is not None and found.time_millis >= time_ms:
            high = middle
        else:
            low = middle + 1
    return low
