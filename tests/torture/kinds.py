"""The tables that are tortured, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from table_format import Schema

_SHORT_RETENTION: Final = {
    # A floor of 10 s under which nothing is expired; processes are stopped for 3 s at most.
    "commit.attempt-timeout": "3 s",
    "commit.request-timeout": "1 s",
    "commit.max-retries": "200",
    "snapshot.time-retained": "20 s",
    "snapshot.num-retained.min": "3",
    "snapshot.num-retained.max": "1000",
    "manifest.merge-min-count": "5",
}


@dataclass(frozen=True, slots=True)
class Kind:
    """A table to torture: how it is created, and which jobs its writers do."""

    name: str
    options: Mapping[str, str] = field(default_factory=dict)
    is_keyed: bool = True
    is_partitioned: bool = False
    adds_up: bool = False
    """Rows of one key are summed, so that writers may share keys."""
    changes_rows: bool = True
    """Whether writers use DELETE and UPDATE."""
    writes_deletes: bool = True
    """Whether writers send rows of the kind -D."""
    bucket_counts: tuple[int, ...] = ()
    """The numbers of buckets between which the table is rescaled."""
    moves_keys: bool = False
    """The primary key lacks the partition, and a key goes to another one from job to job."""
    visible_after_compaction: bool = False
    """Readers skip level 0, so that a scan may lag behind what was committed."""

    @property
    def streams_state(self) -> bool:
        """Whether the changes up to a snapshot add up to its rows: a changelog comes later than them."""
        is_plain = self.is_keyed and not self.adds_up and not self.moves_keys and not self.visible_after_compaction
        return is_plain and "changelog-producer" not in self.options

    def schema(self) -> Schema:
        """What the table begins with: more columns come while it is written."""
        columns = [
            pa.field("who", pa.int32(), nullable=not self.is_keyed),
            pa.field("k", pa.int32(), nullable=not self.is_keyed),
            pa.field("dt", pa.string(), nullable=not (self.is_keyed and self.is_partitioned)),
            pa.field("v", pa.int32()),
        ]
        has_day_in_key = self.is_partitioned and not self.moves_keys
        keys = [] if not self.is_keyed else ["who", "k", *(["dt"] if has_day_in_key else [])]
        partition = ["dt"] if self.is_partitioned else []
        runs = {"num-sorted-run.compaction-trigger": "4"} if self.is_keyed else {}
        options = {**_SHORT_RETENTION, **runs, **self.options}
        return Schema.from_arrow(pa.schema(columns), keys, partition, options)


KINDS: Final = (
    Kind("append", {"bucket": "-1"}, is_keyed=False, is_partitioned=True),
    Kind("append_vectors", {"bucket": "-1", "deletion-vectors.enabled": "true"}, is_keyed=False),
    Kind("keyed", {"bucket": "2"}, bucket_counts=(2, 3, 4)),
    Kind("keyed_orc", {"bucket": "1", "file.format": "orc"}, is_partitioned=True),
    Kind(
        "vectors",
        {"bucket": "2", "deletion-vectors.enabled": "true"},
        visible_after_compaction=True,
        bucket_counts=(2, 3),
    ),
    Kind("lookup_changelog", {"bucket": "2", "changelog-producer": "lookup"}),
    Kind("full_changelog", {"bucket": "1", "changelog-producer": "full-compaction"}),
    Kind("dynamic", {"bucket": "-1", "dynamic-bucket.target-row-num": "40"}, is_partitioned=True),
    Kind(
        "sum",
        {
            "bucket": "2",
            "merge-engine": "aggregation",
            "fields.v.aggregate-function": "sum",
            "fields.default-aggregate-function": "max",
        },
        adds_up=True,
        changes_rows=False,
        writes_deletes=False,
        bucket_counts=(2, 5),
    ),
    Kind("moving", {"bucket": "-1", "dynamic-bucket.target-row-num": "40"}, is_partitioned=True, moves_keys=True),
    Kind("write_only", {"bucket": "2", "write-only": "true"}),
)
"""Every way of writing whose files others may meanwhile replace."""


def kind_named(name: str) -> Kind:
    """The kind of that name.

    Raises:
        KeyError: the kind does not exist.
    """
    return {kind.name: kind for kind in KINDS}[name]
