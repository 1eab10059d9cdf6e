"""The local key indexes of a table: one of all keys, for a single writer, and those of shards.

Shards depend on the number of assigners. The shards of one earlier number are kept in addition to those in use.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from table_format.indexes.key_index import GlobalKeyIndex
from table_format.indexes.local_store import discard_closed, kept_names
from table_format.kernels.key_shards import WHOLE, KeyShard
from table_format.kernels.stored_keys import stored_key
from table_format.model.arrow_types import arrow_type
from table_format.table.facts import TableFacts
from table_format.table.placement.key_index_directory import key_index_directory

_SHARD: Final = "shard"
_EARLIER_NUMBERS: Final = 1
"""How many earlier numbers of assigners keep their shards."""


def open_key_index(facts: TableFacts, *, replacing: bool = False, shard: KeyShard = WHOLE) -> GlobalKeyIndex:
    """Open the local index of a table and branch; an empty one if the rows replace the table.

    Raises:
        LocalStoreError: the directory for it cannot be used.
    """
    paths, bucketing = facts.store.paths, facts.options.bucket
    types = [stored_key(pa.array([], arrow_type(f.type))).type for f in facts.schema.select(facts.schema.primary_keys)]
    fitting = f"{paths.root}\n{paths.branch}|{facts.schema.primary_keys}|{bucketing.index_ttl_ms}"
    if facts.store.identity is not None:
        fitting = f"{fitting}|{facts.store.identity}"
    name = "keys"
    if not shard.is_whole:
        name = f"{_SHARD}-{shard.number}-of-{shard.of}"
        fitting = f"{fitting}|{name}"
    directory = key_index_directory(facts.store.runtime, paths.root, paths.branch)
    return GlobalKeyIndex.open(directory, "replacing" if replacing else name, types, fitting)


def discard_other_shards(facts: TableFacts, shard: KeyShard) -> None:
    """Delete the shards of the least recently used numbers of assigners. Open shards stay."""
    paths = facts.store.paths
    directory = key_index_directory(facts.store.runtime, paths.root, paths.branch)
    names = {name: name.rpartition("-of-")[2] for name in kept_names(directory) if name.startswith(f"{_SHARD}-")}
    others = [of for of in dict.fromkeys(names.values()) if of != str(shard.of)]
    unwanted = frozenset(others[_EARLIER_NUMBERS:])
    for name, of in names.items():
        if of in unwanted:
            discard_closed(directory, name)
