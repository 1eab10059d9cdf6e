"""Tables whose primary key lacks partition columns, and where their keys lie."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from table_format import Table
from table_format.kernels.key_shards import WHOLE, KeyShard
from table_format.runtime import Runtime, SystemClock
from table_format.table.placement.key_index_updates import follow
from table_format.table.placement.local_key_index import open_key_index
from tests.support.tables import KEYED, Warehouse, keyed

ENGINES = ("deduplicate", "partial-update", "aggregation", "first-row")

Lies = dict[tuple[object, ...], tuple[str, int]]


def with_runtime(warehouse: Warehouse, runtime: Runtime) -> Warehouse:
    return replace(warehouse, catalog=replace(warehouse.catalog, runtime=runtime))


def moving(warehouse: Warehouse, name: str = "t", schema: pa.Schema = KEYED, **options: str) -> Table:
    given = {"bucket": "-1", **{key.replace("__", ".").replace("_", "-"): v for key, v in options.items()}}
    return warehouse.table(name, schema, primary_keys=["id"], partition_keys=["dt"], options=given)


def rows(*given: tuple[Any, ...], kinds: list[str] | None = None) -> pa.Table:
    return keyed(list(given), **({} if kinds is None else {"_row_kind": pa.array(kinds)}))


def index_content(table: Table, shard: KeyShard = WHOLE) -> Lies:
    """What the index this machine keeps of a table says, brought up to the latest snapshot."""
    index = open_key_index(table.facts, shard=shard)
    try:
        follow(table.facts, index, table.latest_snapshot(), shard=shard)
        return {k: (table.facts.partitions.text(p), bucket) for k, (p, bucket) in index.content().items()}
    finally:
        index.close()


def shards_content(table: Table, of: int) -> Lies:
    """What the indexes of all shards say; no key is in two of them."""
    found: Lies = {}
    for number in range(of):
        content = index_content(table, KeyShard(number, of))
        assert not found.keys() & content.keys()
        found |= content
    return found


def rebuilt_content(table: Table, tmp_path: Path) -> Lies:
    """What an index says that is built from nothing."""
    empty = replace(table.store.runtime, cache_directory=str(tmp_path / "empty"))
    return index_content(replace(table, store=replace(table.store, runtime=empty)))


def places_of(table: Table) -> Lies:
    """Where each key is read from; no key twice."""
    scan = table.scan()
    found: Lies = {}
    for split in scan.plan():
        for batch in scan.read(split):
            for key in batch.column("id").to_pylist():
                assert (key,) not in found, f"{key} is there twice"
                found[key,] = (table.facts.partitions.text(split.partition), split.bucket)
    return found


def of_another_machine(table: Table) -> Table:
    """The table as it is written from elsewhere."""
    elsewhere = Runtime(cache_directory=f"{table.store.runtime.cache_directory}-of-another-machine")
    return replace(table, store=replace(table.store, runtime=elsewhere))


def local_files(table: Table) -> list[str]:
    """The local indexes of keys on this machine, by name."""
    return sorted(path.name for path in Path(table.store.runtime.cache_directory or "").rglob("*.duckdb"))


class Steps(SystemClock):
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.ms = 1_700_000_000_000

    def now_ms(self) -> int:
        return self.ms

    def local_now_ms(self) -> int:
        return self.ms
