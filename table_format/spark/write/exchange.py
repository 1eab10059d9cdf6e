"""Chooses how rows reach the tasks that write their buckets, and why.

Spark's shuffle makes bytes of each row and sorts them; Python then needs columns again. Rows may instead be put into
files of the table's storage as columns, so that only the names of their parts are shuffled
(``spark/write/storage_exchange.py``), or be written where they are, each task into files of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from table_format.errors import UnsupportedFeature
from table_format.io.local import LocalFileIO
from table_format.options.bucket_mode import BucketMode, Fixed, Postponed, Unaware
from table_format.options.write import Exchange
from table_format.spark.write.sizes import WritingTasks
from table_format.table.facts import TableFacts


@dataclass(frozen=True, slots=True)
class Way:
    """How rows reach the files of their buckets: through a number of tasks or, with none, written by the tasks that
    hold them.

    ``reason`` is for people to read.
    """

    exchange: Exchange
    reason: str
    tasks: int = 0
    is_small: bool = False

    def __str__(self) -> str:
        by = f", {self.tasks} writing task{'' if self.tasks == 1 else 's'}" if self.tasks else ""
        return f"exchange: {self.exchange.value}{by} ({self.reason})"


def way_of(facts: TableFacts, tasks: WritingTasks) -> Way:
    """The way for rows of a table that so many tasks should write.

    Raises:
        UnsupportedFeature: the option ``spark.write.exchange`` names a way that the table cannot go.
    """
    wanted = facts.options.write.spark_exchange
    mode = facts.bucket_mode
    if isinstance(mode, Unaware | Postponed):
        return Way(Exchange.NONE, "rows of the table need not be in one task")
    if not isinstance(mode, Fixed):
        _require(wanted, mode, Exchange.AUTO, Exchange.SHUFFLE)
        return Way(Exchange.SHUFFLE, "keys are given their buckets by the tasks that rows are shuffled to")
    if wanted is Exchange.NONE:
        require_disjoint_writers(facts)
        return Way(Exchange.NONE, "'spark.write.exchange' = 'none'")
    if tasks.why_one is not None:
        return Way(Exchange.SHUFFLE, tasks.why_one, 1, is_small=True)
    if wanted is not Exchange.AUTO:
        return Way(wanted, f"'spark.write.exchange' = '{wanted.value}'", tasks.count)
    if isinstance(facts.store.io, LocalFileIO):
        return Way(Exchange.STORAGE, "the table lies in a file system", tasks.count)
    return Way(Exchange.SHUFFLE, "the table lies in an object store", tasks.count)


def require_disjoint_writers(facts: TableFacts) -> None:
    """Refuse tables of which two tasks cannot write one bucket.

    Raises:
        UnsupportedFeature: names the reason.
    """
    options = facts.options
    reasons = {
        "the table has no primary key": not facts.schema.is_primary_key_table,
        "the table is not 'write-only'": not options.compaction.write_only,
        "the table has deletion vectors": options.deletion_vectors.enabled,
    }
    for reason, holds in reasons.items():
        if holds:
            feature = f"{facts.name}: 'spark.write.exchange' = 'none': {reason}, and several tasks would write a bucket"
            raise UnsupportedFeature(feature)


def _require(wanted: Exchange, mode: BucketMode, *possible: Exchange) -> None:
    if wanted not in possible:
        feature = f"'spark.write.exchange' = '{wanted.value}' of a table with {type(mode).__name__.lower()} buckets"
        raise UnsupportedFeature(feature)
