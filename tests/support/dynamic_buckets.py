"""What must hold of a table with dynamic buckets after every commit."""

from __future__ import annotations

from table_format import Table
from table_format.indexes.hash_index import hash_entries, read_hashes
from table_format.kernels.hashing import row_hashes


def index_of(table: Table, partition: bytes | None = None) -> dict[int, list[int]]:
    """The hashes of each bucket of a partition; of the first one, if it is the only one."""
    facts = table.facts
    snapshot = table.latest_snapshot()
    entries = hash_entries(() if snapshot is None else facts.manifests.index_entries(snapshot))
    found = entries.get(partition, {}) if partition is not None else next(iter(entries.values()), {})
    return {
        bucket: sorted(read_hashes(facts.store, entry, facts.index_path).tolist())
        for bucket, entry in sorted(found.items())
    }


def assert_sound(table: Table, *, exact: bool = False) -> None:
    """Check that no key is in two buckets, and that the index of a bucket holds its hashes: no others, if ``exact``."""
    fields = table.schema.select(table.schema.trimmed_primary_keys)
    scan = table.scan()
    stored: dict[tuple[bytes, int], set[int]] = {}
    keys: set[tuple[object, ...]] = set()
    for split in scan.plan():
        for batch in scan.read(split):
            columns = [batch.column(f.name) for f in fields]
            hashes = row_hashes([f.type for f in fields], columns).tolist()
            stored.setdefault((split.partition, split.bucket), set()).update(hashes)
            for key in zip(*(c.to_pylist() for c in columns), strict=True):
                assert (split.partition, *key) not in keys, f"{key} is there twice"
                keys.add((split.partition, *key))
    for (partition, bucket), hashes in stored.items():
        index = index_of(table, partition)
        indexed = set(index[bucket])
        assert hashes <= indexed, f"bucket {bucket} lacks hashes"
        assert not exact or hashes == indexed
        assert not any(hashes & set(others) for other, others in index.items() if other != bucket)
