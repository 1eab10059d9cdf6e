"""Tags that commits create automatically.

In the modes process-time and watermark, the first snapshot after the end of a period gets the tag of that period. The
existing tags show the progress, so any process can continue. In batch mode, the tag of the day moves to the latest
snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final

from table_format.errors import AlreadyExistsError, SnapshotExpired
from table_format.io.table_store import TableStore
from table_format.metastore.expiry.tag_deletion import delete_tags, replace_tag
from table_format.metastore.references.tag_periods import TagPeriods
from table_format.metastore.references.tag_store import TagStore
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.snapshot import FIRST_SNAPSHOT_ID, NO_WATERMARK, Snapshot
from table_format.model.tag import Tag
from table_format.options.table_options import TableOptions
from table_format.options.tags import TagOptions
from table_format.options.zones import local_ms, zone_of

_BATCH_PREFIX: Final = "batch-write-"
_DAYS: Final = TagPeriods(86_400_000, "%Y-%m-%d")


def create_period_tags(store: TableStore, options: TableOptions) -> tuple[str, ...]:
    """Create the tags that are due by ``tag.automatic-creation`` = process-time or watermark. Return their names.

    Raises:
        CorruptionError: a snapshot or a tag cannot be read.
        OSError: the store failed; call again.
    """
    if options.tags.automatic_creation not in ("process-time", "watermark"):
        return ()
    return _PeriodTags(store, options).create()


def create_batch_tag(store: TableStore, options: TableOptions) -> str | None:
    """Move the tag of ``tag.automatic-creation`` = batch to the latest snapshot. Return its name.

    Raises:
        CorruptionError: a snapshot or a tag cannot be read.
        OSError: the store failed.
    """
    if options.tags.automatic_creation != "batch":
        return None
    snapshot = SnapshotStore(store).latest()
    if snapshot is None:
        return None
    name = options.tags.batch_customized_name or _name_of_day(snapshot, options.tags)
    tags, retained_ms = TagStore(store), options.tags.default_time_retained_ms
    if tags.find(name) is None:
        tags.create(name, snapshot, time_retained_ms=retained_ms, automatic=True)
    else:
        replace_tag(store, options, name, snapshot, time_retained_ms=retained_ms)
    made = {n: tag for n, tag in tags.all().items() if n == name or _is_batch_name(n)}
    _keep_newest(store, options, made)
    return name


def due_tags(store: TableStore, options: TableOptions) -> tuple[str, ...]:
    """Return the names of the tags that are due by ``tag.automatic-creation``, without creating them.

    Raises:
        CorruptionError: a snapshot or a tag cannot be read.
        OSError: the store failed.
    """
    tags = TagStore(store)
    if options.tags.automatic_creation == "batch":
        snapshot = SnapshotStore(store).latest()
        if snapshot is None:
            return ()
        name = options.tags.batch_customized_name or _name_of_day(snapshot, options.tags)
        tag = tags.find(name)
        return () if tag is not None and tag.snapshot.is_same(snapshot) else (name,)
    if options.tags.automatic_creation == "none":
        return ()
    return tuple(name for name in _PeriodTags(store, options).due() if tags.find(name) is None)


def is_automatic(name: str, options: TagOptions) -> bool:
    """Return whether a tag name has the form of automatic tags by process-time or watermark."""
    if options.automatic_creation not in ("process-time", "watermark"):
        return False
    return TagPeriods.of(options).time_of(name) is not None


class _PeriodTags:
    """One pass over the snapshots since the last tag."""

    def __init__(self, store: TableStore, options: TableOptions) -> None:
        self._store = store
        self._options = options
        self._tags = TagStore(store)
        self._snapshots = SnapshotStore(store)
        self._periods = TagPeriods.of(options.tags)
        self._due: int | None = None
        """The start of the period of the next tag; ``None`` before the first."""

    def create(self) -> tuple[str, ...]:
        return tuple(name for snapshot in self._new_snapshots() if (name := self._tag(snapshot)) is not None)

    def due(self) -> Iterator[str]:
        """Return the names that ``create`` would use, including existing ones."""
        return (name for snapshot in self._new_snapshots() if (name := self._due_name(snapshot)) is not None)

    def _new_snapshots(self) -> Iterator[Snapshot]:
        last = max(self._made(), key=lambda name: self._periods.time_of(name) or 0, default=None)
        if last is None:
            number = self._snapshots.earliest_id() or FIRST_SNAPSHOT_ID
        else:
            number = self._tags.load(last).snapshot.id + 1
            self._due = (self._periods.time_of(last) or 0) + self._periods.length_ms
        while True:
            snapshot = self._snapshots.find(number)
            if snapshot is not None:
                yield snapshot
                number += 1
                continue
            earliest = self._snapshots.earliest_id()
            if earliest is None or earliest <= number:
                return
            number = earliest  # the snapshots in between have expired

    def _made(self) -> list[str]:
        return [name for name in self._tags.names() if self._periods.time_of(name) is not None]

    def _due_name(self, snapshot: Snapshot) -> str | None:
        """Return the name of the tag that is due for a snapshot; its period then counts as tagged."""
        options, length_ms = self._options.tags, self._periods.length_ms
        time_ms = _time_of(snapshot, options)
        if time_ms is None:
            return None
        if self._due is not None and time_ms - options.creation_delay_ms < self._due + length_ms:
            return None
        period = self._periods.last_ended(time_ms)
        if options.automatic_completion and self._due is not None:
            period = self._due
        self._due = period + length_ms
        return self._periods.name_of(period)

    def _tag(self, snapshot: Snapshot) -> str | None:
        name = self._due_name(snapshot)
        if name is None:
            return None
        options = self._options.tags
        # An existing tag, or a snapshot that is being deleted, must not block later tags.
        with suppress(AlreadyExistsError, SnapshotExpired):
            self._tags.create(name, snapshot, time_retained_ms=options.default_time_retained_ms, automatic=True)
        _keep_newest(self._store, self._options, {n: self._tags.load(n) for n in self._made()})
        return name


def _time_of(snapshot: Snapshot, options: TagOptions) -> int | None:
    """Return the local time that determines the period: that of the commit, or its watermark."""
    if options.automatic_creation == "watermark":
        if snapshot.watermark is None or snapshot.watermark == NO_WATERMARK:
            return None
        return local_ms(snapshot.watermark, zone_of(options.watermark_time_zone))
    return _commit_time(snapshot, options)


def _commit_time(snapshot: Snapshot, options: TagOptions) -> int:
    zone = None if options.process_time_zone is None else zone_of(options.process_time_zone)
    return local_ms(snapshot.time_millis, zone)


def _name_of_day(snapshot: Snapshot, options: TagOptions) -> str:
    return _BATCH_PREFIX + _DAYS.name_of(_commit_time(snapshot, options))


def _is_batch_name(name: str) -> bool:
    day = name.removeprefix(_BATCH_PREFIX)
    return day != name and _DAYS.time_of(day) is not None


def _keep_newest(store: TableStore, options: TableOptions, made: Mapping[str, Tag]) -> None:
    """Delete the oldest automatic tags until at most ``tag.num-retained-max`` are left."""
    kept = options.tags.num_retained_max
    if kept is not None and len(made) > kept:
        oldest = sorted(made, key=lambda name: (made[name].snapshot.id, name))[: len(made) - kept]
        delete_tags(store, options, oldest)
