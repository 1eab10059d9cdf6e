"""Finds keys that are in several buckets, in tables where an index decides on the bucket of a key.

Such a key has several rows, because buckets are merged one by one. Two writers that do not see each other's index cause
this. The check of a bucket returns the hashes of its keys; only the keys whose hash several buckets have are compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from table_format.kernels.hashing import row_hashes
from table_format.model.bucket_id import BucketId
from table_format.model.split import DataSplit
from table_format.options.bucket_mode import CrossPartition, Dynamic
from table_format.table.facts import TableFacts
from table_format.table.read.scan import Scan
from table_format.table.verify.report import Finding, KeyHashes, Severity

Hashes: TypeAlias = npt.NDArray[np.int32]

CHECK: Final = "one bucket per key"

MAX_KEYS: Final = 100
"""The largest number of keys that findings name."""


def are_placed_by_index(facts: TableFacts) -> bool:
    """Return whether an index decides on the bucket of a key."""
    return isinstance(facts.bucket_mode, Dynamic | CrossPartition)


def find_doubled_keys(facts: TableFacts, hashes: Iterable[KeyHashes]) -> Iterator[Finding]:
    """Return a finding for each key with rows in several buckets of the latest state, up to ``MAX_KEYS``."""
    suspects = repeated_hashes(hashes, across=isinstance(facts.bucket_mode, CrossPartition))
    if not suspects:
        return
    doubled = {key: places for key, places in _places(facts, suspects).items() if len(places) > 1}
    for _, (key, places) in zip(range(MAX_KEYS), sorted(doubled.items(), key=repr), strict=False):
        yield _finding(facts, key, places, len(doubled))


def repeated_hashes(hashes: Iterable[KeyHashes], *, across: bool) -> dict[BucketId, Hashes]:
    """Return the hashes that several buckets have: of one partition, or, ``across`` partitions, of all.

    >>> of_buckets = ([1, 2], [2], [3])
    >>> pieces = [KeyHashes(BucketId(b"", n), np.array(h, np.int32).tobytes()) for n, h in enumerate(of_buckets)]
    >>> {place.bucket: found.tolist() for place, found in repeated_hashes(pieces, across=False).items()}
    {0: [2], 1: [2]}
    """
    groups: dict[bytes, dict[BucketId, Hashes]] = {}
    for each in hashes:
        group = groups.setdefault(b"" if across else each.bucket_id.partition, {})
        group[each.bucket_id] = np.frombuffer(each.hashes, np.int32)
    found: dict[BucketId, Hashes] = {}
    for group in groups.values():
        values, counts = np.unique(np.concatenate(list(group.values())), return_counts=True)
        repeated = values[counts > 1]
        for bucket_id, own in group.items() if len(repeated) else ():
            shared = own[np.isin(own, repeated)]
            if len(shared):
                found[bucket_id] = shared
    return found


def _places(
    facts: TableFacts, suspects: Mapping[BucketId, Hashes]
) -> Mapping[tuple[object, ...], Sequence[tuple[str, int]]]:
    """Return where the keys with these hashes have rows. A snapshot is read as a whole, so commits do not disturb."""
    found: dict[tuple[object, ...], list[tuple[str, int]]] = {}
    scan = Scan(facts, facts.schema.primary_keys, min_level=0)
    for split in scan.plan():
        wanted = suspects.get(BucketId(split.partition, split.bucket))
        if wanted is not None:
            place = (facts.partitions.text(split.partition), split.bucket)
            for key in _keys(facts, scan, split, wanted):
                known = found.setdefault(key, [])
                if place not in known:
                    known.append(place)
    return found


def _keys(facts: TableFacts, scan: Scan, split: DataSplit, wanted: Hashes) -> Iterator[tuple[object, ...]]:
    names = facts.schema.primary_keys
    hashed = facts.schema.select(facts.schema.trimmed_primary_keys)
    for batch in scan.read(split):
        hashes = row_hashes([field.type for field in hashed], [batch.column(field.name) for field in hashed])
        rows = batch.filter(np.isin(hashes, wanted)).select(names)
        yield from zip(*(column.to_pylist() for column in rows.columns), strict=True)


def _finding(facts: TableFacts, key: tuple[object, ...], places: Sequence[tuple[str, int]], doubled: int) -> Finding:
    partitions = {partition for partition, _ in places}
    shown = ", ".join(f"{name}={value!r}" for name, value in zip(facts.schema.primary_keys, key, strict=True))
    where = " and ".join(f"bucket {bucket}{f' of {part}' if part else ''}" for part, bucket in sorted(places))
    more = f"; {doubled - MAX_KEYS} more keys are in several buckets" if doubled > MAX_KEYS else ""
    expires = isinstance(facts.bucket_mode, CrossPartition) and facts.options.bucket.index_ttl_ms is not None
    return Finding(
        # A key that has left the index is a new key: then several rows are what the option asks for.
        Severity.WARNING if expires else Severity.ERROR,
        CHECK,
        facts.store.paths.root,
        f"the key ({shown}) in one bucket",
        f"it in {where}{more}",
        partitions.pop() if len(partitions) == 1 else "",
    )
