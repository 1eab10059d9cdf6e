"""Which snapshots the options of an incremental read name."""

from __future__ import annotations

from dataclasses import dataclass

from table_format.errors import InvalidOption
from table_format.metastore.references.tag_periods import TagPeriods
from table_format.metastore.references.tag_store import TagStore
from table_format.model.snapshot import Snapshot
from table_format.options.scan import INCREMENTAL_BETWEEN, INCREMENTAL_BETWEEN_TIMESTAMP, INCREMENTAL_TO_AUTO_TAG
from table_format.table.facts import TableFacts
from table_format.table.read.time_travel import epoch_ms


@dataclass(frozen=True, slots=True)
class SnapshotRange:
    """Changes after the snapshot ``start`` up to and including ``end``. With tags, the snapshots may have expired."""

    start: int
    end: int
    tags: tuple[Snapshot, Snapshot] | None = None


def named_range(facts: TableFacts) -> SnapshotRange | None:
    """The range that ``incremental-between``, ``incremental-between-timestamp`` or ``incremental-to-auto-tag`` names.

    ``None`` if the range is empty.

    Raises:
        InvalidOption: the options are malformed or contradict each other.
    """
    scan = facts.options.scan
    if scan.incremental_between is not None:
        start, end = _two(INCREMENTAL_BETWEEN.key, scan.incremental_between)
        return _between(facts, start, end)
    if scan.incremental_to_auto_tag is not None:
        return _to_automatic_tag(facts, scan.incremental_to_auto_tag.strip())
    start, end = _two(INCREMENTAL_BETWEEN_TIMESTAMP.key, scan.incremental_between_timestamp or "")
    return _between_times(facts, _time(start), _time(end))


def _between(facts: TableFacts, start: str, end: str) -> SnapshotRange | None:
    tags = TagStore(facts.store)
    names = tags.names()
    if start in names and end in names:
        first, last = tags.load(start).snapshot, tags.load(end).snapshot
        _check_order(INCREMENTAL_BETWEEN.key, first.id, last.id)
        return SnapshotRange(first.id, last.id, (first, last))
    if not (_is_number(start) and _is_number(end)):
        message = f"'{start}' and '{end}' are neither two tags nor the ids of two snapshots; {tags.known_names()}"
        raise InvalidOption(INCREMENTAL_BETWEEN.key, message)
    _check_order(INCREMENTAL_BETWEEN.key, int(start), int(end))
    return None if facts.snapshots.latest_id() is None else SnapshotRange(int(start), int(end))


def _to_automatic_tag(facts: TableFacts, name: str) -> SnapshotRange | None:
    """The changes of the period of a tag (Java ``IncrementalDiffStartingScanner.toEndAutoTag``)."""
    periods, tags = TagPeriods.of(facts.options.tags), TagStore(facts.store)
    time = periods.time_of(name)
    if time is None:
        message = f"'{name}' is not the name of an automatic tag, such as '{periods.name_of(0)}'; {tags.known_names()}"
        raise InvalidOption(INCREMENTAL_TO_AUTO_TAG.key, message)
    earlier = {start: other for other in tags.names() if (start := periods.time_of(other)) is not None and start < time}
    last, first = tags.find(name), tags.find(earlier[max(earlier)]) if earlier else None
    if last is None or first is None:
        return None
    _check_order(INCREMENTAL_TO_AUTO_TAG.key, first.snapshot.id, last.snapshot.id)
    return SnapshotRange(first.snapshot.id, last.snapshot.id, (first.snapshot, last.snapshot))


def _between_times(facts: TableFacts, start_ms: int, end_ms: int) -> SnapshotRange | None:
    _check_order(INCREMENTAL_BETWEEN_TIMESTAMP.key, start_ms, end_ms)
    earliest_id, latest = facts.snapshots.earliest_id(), facts.snapshots.latest()
    if earliest_id is None or latest is None:
        return None
    earliest = facts.snapshots.load(earliest_id)
    if start_ms == end_ms or start_ms > latest.time_millis or end_ms < earliest.time_millis:
        return None
    first = facts.snapshots.before(start_ms + 1)
    last = facts.snapshots.at_or_before(end_ms)
    return SnapshotRange(earliest.id - 1 if first is None else first.id, last.id)


def _two(key: str, text: str) -> tuple[str, str]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or not all(parts):
        raise InvalidOption(key, f"expected 'start,end' with an excluded start, found {text!r}")
    return parts[0], parts[1]


def _time(text: str) -> int:
    return int(text) if _is_number(text) else epoch_ms(INCREMENTAL_BETWEEN_TIMESTAMP.key, text)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _check_order(key: str, start: int, end: int) -> None:
    if end < start:
        raise InvalidOption(key, f"the end, {end}, is before the start, {start}")
