"""Drops old partitions (format chapter 10, section 11; Java ``NormalPartitionExpire``).

Decide purely, then act: the partitions with the totals of their files are facts, and ``expired`` chooses. By value, a
partition is dropped with all its rows. By last update, it is dropped only if nobody has written to it since it was
chosen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from table_format.counted import counted
from table_format.errors import InvalidInputError
from table_format.io.paths import partition_text
from table_format.metastore.references.expired_reads import on_latest
from table_format.model.arguments import flag
from table_format.model.commit import Committable
from table_format.model.manifest import ManifestEntry
from table_format.model.partition_time import PartitionTimes
from table_format.model.snapshot import BATCH_COMMIT_IDENTIFIER, Snapshot
from table_format.options.declare import Operation, Option, parse_value
from table_format.options.partitions import (
    EXPIRATION_MAX_NUM,
    EXPIRATION_STRATEGY,
    EXPIRATION_TIME,
    TIMESTAMP_FORMATTER,
    TIMESTAMP_PATTERN,
    PartitionOptions,
)
from table_format.table.facts import HasFacts, TableFacts, reporting_drops
from table_format.table.write.batch_commit import expire_after_commit, fresh_user


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """One partition and the totals of its live files.

    ``values`` are texts by column, ``None`` for null. ``updated_ms`` is the local wall-clock time of its newest file,
    ``None`` if unknown. ``rows`` counts stored rows, before any merge.
    """

    key: bytes
    partition: str
    values: Mapping[str, str | None]
    rows: int
    files: int
    bytes: int
    updated_ms: int | None = None
    is_postponed: bool = False


@dataclass(frozen=True, slots=True)
class ExpiredPartition:
    """A partition that was dropped, or would be. ``time_ms`` is the wall-clock time that decided."""

    partition: str
    spec: Mapping[str, str | None]
    time_ms: int
    rows: int
    files: int
    bytes: int

    def __str__(self) -> str:
        return f"{self.partition}: {counted(self.rows, 'row')} in {counted(self.files, 'file')}"


@dataclass(frozen=True, slots=True)
class PartitionExpiryReport:
    """What an expiry of partitions dropped, or would drop.

    ``unreadable`` are partitions of unknown age: their values are not a time, or no file has a creation time. They
    stay. ``left`` counts further partitions that are old enough, beyond the limit of one call.
    """

    partitions: tuple[ExpiredPartition, ...] = ()
    snapshots: tuple[Snapshot, ...] = ()
    dry_run: bool = False
    unreadable: tuple[str, ...] = ()
    left: int = 0

    @property
    def rows(self) -> int:
        """Physical rows of all dropped partitions."""
        return sum(partition.rows for partition in self.partitions)

    @property
    def files(self) -> int:
        """Files of all dropped partitions."""
        return sum(partition.files for partition in self.partitions)

    @property
    def bytes(self) -> int:
        """Bytes of all dropped partitions."""
        return sum(partition.bytes for partition in self.partitions)

    def __str__(self) -> str:
        verb = "would be dropped" if self.dry_run else "dropped"
        head = f"{counted(len(self.partitions), 'partition')} {verb}, {counted(self.rows, 'row')}"
        return "\n".join([head, *map(str, self.partitions)])


def expired(
    partitions: Iterable[PartitionFacts], options: PartitionOptions, *, local_now_ms: int
) -> tuple[tuple[PartitionFacts, int], ...]:
    """The partitions that are older than the options allow, in the order of their texts, each with its time.

    Times are wall-clock times.
    """
    if options.expiration_time_ms is None:
        return ()
    oldest_ms = local_now_ms - options.expiration_time_ms
    aged = ((partition, age_ms(partition, options)) for partition in partitions)
    found = [(partition, time_ms) for partition, time_ms in aged if time_ms is not None and time_ms < oldest_ms]
    return tuple(sorted(found, key=lambda item: item[0].partition))


def age_ms(partition: PartitionFacts, options: PartitionOptions) -> int | None:
    """Return the wall-clock time that determines the age of a partition; ``None`` if it is unknown."""
    if options.expiration_strategy == "update-time":
        # Postponed rows still wait for their buckets.
        return None if partition.is_postponed else partition.updated_ms
    # As in Java: the default pattern uses the first value alone, and any other pattern needs all values.
    names = list(partition.values)[: 1 if options.timestamp_pattern is None else None]
    values = {name: value for name in names if (value := partition.values[name]) is not None}
    if len(values) < len(names):
        return None
    return PartitionTimes(options.timestamp_pattern, options.timestamp_formatter).ms_of(values)


@reporting_drops
def expire_partitions(
    table: HasFacts,
    *,
    dry_run: bool = False,
    expiration_time_ms: int | None = None,
    strategy: str | None = None,
    timestamp_formatter: str | None = None,
    timestamp_pattern: str | None = None,
    max_num: int | None = None,
) -> PartitionExpiryReport:
    """See ``Table.expire_partitions``."""
    flag(dry_run, "dry_run")
    facts = table.current_facts
    facts.require(Operation.WRITE)
    given: tuple[tuple[Option[Any], int | str | None], ...] = (
        (EXPIRATION_TIME, None if expiration_time_ms is None else f"{expiration_time_ms} ms"),
        (EXPIRATION_STRATEGY, strategy),
        (TIMESTAMP_FORMATTER, timestamp_formatter),
        (TIMESTAMP_PATTERN, timestamp_pattern),
        (EXPIRATION_MAX_NUM, max_num),
    )
    texts = {option.key: str(value) for option, value in given if value is not None}
    for option, value in given:
        if value is not None:
            parse_value(option.key, option.parser, str(value))
    options = facts.options.with_options(texts).partitions
    _require_age(facts, options)
    base, found = on_latest(facts.snapshots, lambda snapshot: (snapshot, tuple(partition_facts(facts, snapshot))))
    local_now_ms = facts.store.runtime.clock.local_now_ms()
    old = expired(found, options, local_now_ms=local_now_ms)
    chosen = old[: options.expiration_max_num]
    snapshots = () if dry_run or base is None else tuple(_drop(facts, options, base, [p for p, _ in chosen]))
    return PartitionExpiryReport(
        tuple(ExpiredPartition(p.partition, p.values, time, p.rows, p.files, p.bytes) for p, time in chosen),
        snapshots,
        dry_run,
        tuple(sorted(p.partition for p in found if age_ms(p, options) is None)),
        len(old) - len(chosen),
    )


def partition_facts(facts: TableFacts, snapshot: Snapshot | None) -> Iterator[PartitionFacts]:
    """The partitions of a snapshot that have files."""
    groups: dict[bytes, list[ManifestEntry]] = {}
    for entry in facts.live_files(snapshot).entries:
        groups.setdefault(entry.partition, []).append(entry)
    for key, entries in groups.items():
        times = [entry.file.creation_time for entry in entries]
        yield PartitionFacts(
            key=key,
            partition=facts.partitions.text(key),
            values=_texts(facts, key),
            rows=sum(entry.file.row_count for entry in entries),
            files=len(entries),
            bytes=sum(entry.file.file_size for entry in entries),
            updated_ms=None if None in times else max(time for time in times if time is not None),
            is_postponed=any(entry.bucket < 0 for entry in entries),
        )


def _texts(facts: TableFacts, key: bytes) -> Mapping[str, str | None]:
    """Return the values of a partition as in SQL: a date is a day, although the directory name may have a number."""
    texts: dict[str, str | None] = {}
    for field, value in zip(facts.schema.partition_fields, facts.partitions.values(key), strict=True):
        text = None if value is None else partition_text((field,), (value,), legacy=False).partition("=")[2]
        texts[field.name] = None if text is None else unquote(text)
    return texts


def _require_age(facts: TableFacts, options: PartitionOptions) -> None:
    if not facts.schema.partition_keys:
        message = f"{facts.name} has no partitions to expire"
        raise InvalidInputError(message)
    if options.expiration_time_ms is None:
        message = f"{facts.name} has no '{EXPIRATION_TIME.key}'; set it, or pass the age of partitions to drop"
        raise InvalidInputError(message)
    unknown = PartitionTimes(options.timestamp_pattern).unknown_name(facts.schema.partition_keys)
    if unknown is not None and options.expiration_strategy != "update-time":
        message = (
            f"{facts.name}: '{TIMESTAMP_PATTERN.key}' = {options.timestamp_pattern!r}: '{unknown}' is not a partition "
            f"column; these are {', '.join(facts.schema.partition_keys)}"
        )
        raise InvalidInputError(message)


def _drop(
    facts: TableFacts, options: PartitionOptions, base: Snapshot, chosen: Sequence[PartitionFacts]
) -> Iterator[Snapshot]:
    size = options.expiration_batch_size or max(len(chosen), 1)
    for batch in (chosen[first : first + size] for first in range(0, len(chosen), size)):
        committer = facts.committer(fresh_user(facts))
        if options.expiration_strategy == "update-time":
            nothing = Committable(identifier=BATCH_COMMIT_IDENTIFIER, messages=())
            yield committer.rewrite(nothing, base, frozenset(partition.key for partition in batch))
        else:
            names = facts.schema.partition_keys
            values = (facts.partitions.values(partition.key) for partition in batch)
            yield from committer.drop_partitions([dict(zip(names, each, strict=True)) for each in values])
    if chosen:
        expire_after_commit(facts)
