"""Combines several messages of one bucket, so that a commit can hold the work of several flushes.

A file that one message creates by compaction and a later one compacts away was never visible. The combined message
does not name it, and it is left on disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Final

from table_format.model.commit import CommitMessage
from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import HASH, IndexFileMeta
from table_format.table.facts import TableFacts

_NOT_JOINED: Final = (
    "partition",
    "bucket",
    "total_buckets",
    "compact_before",
    "compact_after",
    "hash_index_base",
    "key_places_base",
    "rows_base",
    "numbers_base",
    "levels_base",
    "schema_id",
    "schemas",
    "made_ms",
    "rewrites",
)


@dataclass(frozen=True, slots=True)
class LeftOver:
    """A file that nothing references any more."""

    partition: bytes
    bucket: int
    file: DataFileMeta


@dataclass(frozen=True, slots=True)
class LeftOverIndex:
    """An index file that nothing references any more."""

    partition: bytes
    bucket: int
    file: IndexFileMeta


@dataclass(frozen=True, slots=True)
class Folded:
    """One message for each bucket, in the order of their first messages, and the superfluous files."""

    messages: tuple[CommitMessage, ...]
    left_over: tuple[LeftOver, ...]
    left_over_indexes: tuple[LeftOverIndex, ...] = ()


def fold(messages: Iterable[CommitMessage]) -> Folded:
    """Combine the messages of each bucket, which must be in the order of the work; omit empty ones."""
    groups: dict[tuple[bytes, int, int], list[CommitMessage]] = {}
    bases: dict[bytes, bytes | None] = {}
    for message in messages:
        if not message.is_empty:
            groups.setdefault((message.partition, message.bucket, message.total_buckets), []).append(message)
            bases.setdefault(message.partition, message.hash_index_base)
    left_over: list[LeftOver] = []
    indexes: list[LeftOverIndex] = []
    folded = tuple(group[0] if len(group) == 1 else _sum(group, left_over, indexes) for group in groups.values())
    # Later messages of a partition are based on the hash index of the earlier ones.
    folded = tuple(
        m if m.hash_index_base == bases[m.partition] else replace(m, hash_index_base=bases[m.partition]) for m in folded
    )
    return Folded(folded, tuple(left_over), tuple(indexes))


def delete_left_over(facts: TableFacts, folded: Folded) -> None:
    """Delete the superfluous files, which no snapshot names."""
    for left in folded.left_over:
        facts.delete_file(left.partition, left.bucket, left.file)
    for index in folded.left_over_indexes:
        facts.delete_index_file(index.partition, index.bucket, index.file)


def _sum(
    group: Sequence[CommitMessage], left_over: list[LeftOver], left_over_indexes: list[LeftOverIndex]
) -> CommitMessage:
    before: list[DataFileMeta] = []
    after: list[DataFileMeta] = []
    gone: list[DataFileMeta] = []
    for message in group:
        for file in message.compact_before:
            if file in after:
                after.remove(file)
                gone.append(file)
            else:
                before.append(file)
        after.extend(message.compact_after)
    joined = {
        member.name: tuple(item for message in group for item in getattr(message, member.name))
        for member in fields(CommitMessage)
        if member.name not in _NOT_JOINED
    }
    hashes = [file for file in joined["new_index_files"] if file.index_type == HASH]
    # A bucket has one hash index file: the last one includes the others.
    joined["new_index_files"] = tuple(file for file in joined["new_index_files"] if file not in hashes[:-1])
    come, gone_indexes = joined["compact_new_index_files"], joined["compact_deleted_index_files"]
    replaced = [index for index in come if index in gone_indexes]
    joined["compact_new_index_files"] = tuple(index for index in come if index not in replaced)
    joined["compact_deleted_index_files"] = tuple(index for index in gone_indexes if index not in replaced)
    first = group[0]
    left_over_indexes.extend(LeftOverIndex(first.partition, first.bucket, i) for i in (*hashes[:-1], *replaced))
    schema_ids = [message.schema_id for message in group if message.schema_id is not None]
    named = {file.file_name for file in (*before, *after, *joined["new_files"])}
    left_over.extend(LeftOver(first.partition, first.bucket, file) for file in gone if file.file_name not in named)
    return CommitMessage(
        partition=first.partition,
        bucket=first.bucket,
        total_buckets=first.total_buckets,
        compact_before=tuple(before),
        compact_after=tuple(after),
        hash_index_base=first.hash_index_base,
        key_places_base=first.key_places_base,
        rows_base=first.rows_base,
        numbers_base=first.numbers_base,
        # Later compactions are based on the results of the earlier ones.
        levels_base=next((m.levels_base for m in group if m.levels_base is not None), None),
        schema_id=min(schema_ids, default=None),
        made_ms=None if any(message.made_ms is None for message in group) else min(m.made_ms or 0 for m in group),
        schemas=tuple(sorted({identity for message in group for identity in message.schemas})),
        rewrites=any(message.rewrites for message in group),
        **joined,
    )
