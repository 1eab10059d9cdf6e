"""Chooses how rows reach the tasks that write their buckets, and why.

Spark's shuffle serializes and sorts each row, and Python then needs columns again. Instead, rows may be written as
columns to files in the storage of the table, so that only the locations of their parts are shuffled
(``spark/write/storage_exchange.py``). Or the tasks that hold the rows write them, each task to its own files.
"""

from __future__ import annotations

from dataclasses import dataclass

from table_format.counted import counted
from table_format.options.bucket_mode import Fixed, Postponed, Unaware
from table_format.options.check_exchange import check_exchange
from table_format.options.write import Exchange
from table_format.spark.tasks.spark_reach import spark_reaches
from table_format.spark.write.sizes import WritingTasks
from table_format.table.facts import TableFacts


@dataclass(frozen=True, slots=True)
class Way:
    """How rows reach the files of their buckets: through a number of tasks or, with none, written by the tasks that
    hold them.

    ``reason`` is a text for users.
    """

    exchange: Exchange
    reason: str
    tasks: int = 0
    is_small: bool = False

    def __str__(self) -> str:
        by = f", {counted(self.tasks, 'writing task')}" if self.tasks else ""
        return f"exchange: {self.exchange.value}{by} ({self.reason})"


def way_of(facts: TableFacts, tasks: WritingTasks) -> Way:
    """Choose the way for the rows of a table and the number of writing tasks.

    Raises:
        UnsupportedFeature: the table does not support the way in the option ``spark.write.exchange``.
    """
    wanted = facts.options.write.spark_exchange
    mode = facts.bucket_mode
    if isinstance(mode, Unaware | Postponed):
        return Way(Exchange.NONE, "rows of the table need not be in one task")
    check_exchange(facts.schema, facts.options)
    if not isinstance(mode, Fixed):
        return Way(Exchange.SHUFFLE, "the tasks to which rows are shuffled assign the buckets of keys")
    if wanted is Exchange.NONE:
        return Way(Exchange.NONE, "'spark.write.exchange' = 'none'")
    if tasks.why_one is not None:
        return Way(Exchange.SHUFFLE, tasks.why_one, 1, is_small=True)
    if wanted is not Exchange.AUTO:
        return Way(wanted, f"'spark.write.exchange' = '{wanted.value}'", tasks.count)
    if spark_reaches(facts.store.io):
        return Way(Exchange.STORAGE, "the table is in a file system", tasks.count)
    return Way(Exchange.SHUFFLE, "the table is in an object store", tasks.count)
