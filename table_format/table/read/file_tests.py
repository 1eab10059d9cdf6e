"""What a filter over rows tells about files before they are opened: their statistics, and the buckets of its keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from itertools import product
from math import prod
from typing import Final

from table_format.errors import BadEncoding, InvalidData
from table_format.kernels.hashing import row_hashes
from table_format.kernels.pruning import may_match
from table_format.kernels.values import array_of
from table_format.metastore.scan.file_bounds import FileBounds
from table_format.metastore.scan.file_plan import FilePlan
from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import ManifestEntry
from table_format.model.predicate import Compare, CompareOp, In, Predicate, columns_of, conjuncts
from table_format.model.schema import TableSchema
from table_format.model.snapshot import FIRST_SNAPSHOT_ID, Snapshot
from table_format.model.split import DeletionFile
from table_format.model.types import DataField, DoubleType, FloatType, InternalValue
from table_format.options.table_options import TableOptions
from table_format.table.facts import TableFacts

MAX_BUCKET_KEYS: Final = 4096
"""Combinations of bucket key values that are hashed to find buckets; beyond, all buckets are read."""

_LOCAL_EPOCH: Final = datetime(1970, 1, 1)
"""A wall clock, as files carry it."""


def file_test(predicate: Predicate | None, schema: TableSchema, facts: TableFacts) -> Callable[[DataFileMeta], bool]:
    """Whether the statistics of a file admit a row that the predicate selects."""
    if predicate is None:
        return lambda _file: True
    bounds = FileBounds(schema, facts.schemas, columns_of(predicate))
    return lambda file: may_match(predicate, bounds.of_values(file))


def bucket_key_hashes(schema: TableSchema, predicate: Predicate | None) -> frozenset[int] | None:
    """The hashes a row's bucket key can have, when the predicate fixes every column of it; ``None`` when not."""
    if TableOptions.parse(schema.options).bucket.function != "default":
        return None
    fields = schema.select(schema.bucket_keys)
    choices = [_values_of(field, predicate) for field in fields]
    if not choices or any(values is None for values in choices):
        return None
    sets = [values for values in choices if values is not None]
    if prod(len(values) for values in sets) > MAX_BUCKET_KEYS:
        return None
    rows = list(product(*sets))
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(fields)
    try:
        arrays = [array_of(column, field.type) for column, field in zip(columns, fields, strict=True)]
    except InvalidData:
        return None  # a value finer than the type: it is in no bucket, which the filter itself finds out
    return frozenset(row_hashes([field.type for field in fields], arrays).tolist())


def _values_of(field: DataField, predicate: Predicate | None) -> tuple[InternalValue, ...] | None:
    """The values a column may have under a conjunction; of several conditions the strictest."""
    # 0.0 and -0.0 are equal and hash differently; NaN has many forms.
    if isinstance(field.type, FloatType | DoubleType):
        return None
    found: tuple[InternalValue, ...] | None = None
    for part in conjuncts(predicate):
        match part:
            case Compare(column=column, op=CompareOp.EQ, value=value) if column == field.name:
                values: tuple[InternalValue, ...] = (value,)
            case In(column=column, values=values) if column == field.name:
                pass
            case _:
                continue
        if found is None or len(values) < len(found):
            found = values
    return found


def is_made_since(file: DataFileMeta, time_ms: int) -> bool:
    """Whether a file was made at or after an instant; one that does not say when it was made may have been."""
    if file.creation_time is None:
        return True
    local = _LOCAL_EPOCH + timedelta(milliseconds=file.creation_time)
    return local.timestamp() * 1000 >= time_ms


def check_whole_plan(
    facts: TableFacts,
    snapshot: Snapshot,
    found: FilePlan,
    deletion_files: Mapping[tuple[bytes, int], Mapping[str, DeletionFile]],
) -> None:
    """Compare a plan without filter, of all levels that are shown, with what is recorded elsewhere.

    Snapshots and index manifests have no checksum. One that is damaged may name the manifest list of another snapshot,
    or deletion vectors of other files, so that the rows deleted in the true ones would come back. Level 0, which a
    table that merges on write does not show, has no deletion vectors. Paimon 1.4 leaves the vector behind when it
    rewrites a file of a primary-key table in place; what is no damage is what it can have left.

    Raises:
        BadEncoding: they contradict each other.
    """
    paths = facts.store.paths
    is_complete = not any(number for stage, number in asdict(found.counts).items() if "dropped" in stage)
    rows = sum(entry.file.row_count for entry in found.entries)
    if is_complete and snapshot.total_record_count not in (None, rows):
        message = (
            f"member 'totalRecordCount': expected {rows}, the rows of its files, found {snapshot.total_record_count}"
        )
        raise BadEncoding(paths.snapshot(snapshot.id), message)
    known = {(entry.partition, entry.bucket, entry.file.file_name) for entry in found.entries}
    strays = [(*key, name) for key, files in deletion_files.items() for name in files if (*key, name) not in known]
    for stray in strays:
        if not facts.schema.is_primary_key_table or _is_damage(facts, stray, found.entries):
            path = paths.manifest(snapshot.index_manifest or "")
            raise BadEncoding(path, f"it names a deletion vector of '{stray[-1]}', which is no file of its bucket")


def _is_damage(facts: TableFacts, stray: tuple[bytes, int, str], live: Sequence[ManifestEntry]) -> bool:
    """Whether a vector was not left behind by a compaction: its file was never there, or is another one misnamed."""
    partition, bucket, name = stray
    try:
        path = facts.store.paths.file_in_bucket(facts.partitions.text(partition), bucket, name)
    except BadEncoding:
        return True
    if facts.store.io.status(path) is not None:
        return False
    if facts.snapshots.earliest_id() == FIRST_SNAPSHOT_ID and not any(entry.file.external_path for entry in live):
        # Nothing has expired yet, so no file has gone.
        return True
    return any(_is_nearly(name, entry.file.file_name) for entry in live)


def _is_nearly(name: str, other: str) -> bool:
    """Whether names differ in one character at most, but not in their numbers: one writer counts its files."""
    differing = [at for at, (one, two) in enumerate(zip(name, other, strict=False)) if one != two]
    return len(name) == len(other) and len(differing) < 2 and all(at < name.rfind("-") for at in differing)
