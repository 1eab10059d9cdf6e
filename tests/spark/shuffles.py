"""Simulates Spark's shuffles for cross-partition tables in one process, without a JVM."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa

from table_format import Table
from table_format.kernels.hash_buckets import assigner_of
from table_format.kernels.hashing import row_hashes
from table_format.spark.tasks.task_results import gather
from table_format.spark.write.buckets import TASK
from table_format.spark.write.cross_partition import CrossPartitionWrite, assigner, find_repeated_assigner, writer
from table_format.spark.write.key_bootstrap import ASSIGNER, ORDER


def job_of(table: Table, data: pa.Table, assigners: int, tasks: int, *, replacing: bool = False) -> CrossPartitionWrite:
    """Return the job that ``Lake.write`` would start."""
    names = tuple(data.column_names)
    return CrossPartitionWrite(table.facts, names, table.facts.snapshots.latest(), replacing, assigners, tasks)


def for_assigner(job: CrossPartitionWrite, data: pa.Table, number: int) -> list[pa.RecordBatch]:
    """Return the rows of one assigner in the order of the DataFrame, in small batches."""
    fields = job.facts.schema.select(job.facts.schema.primary_keys)
    [batch] = data.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], schema=data.schema)]
    keys = [batch.column(field.name) for field in fields]
    owners = assigner_of(row_hashes([f.type for f in fields], keys), job.assigners)
    plain = batch.rename_columns([f"c{i}" for i in range(batch.num_columns)])
    plain = plain.append_column(ASSIGNER, pa.array(owners))
    plain = plain.append_column(ORDER, pa.array(np.arange(batch.num_rows)))
    mine = plain.filter(pa.array(owners == number))
    return [mine.slice(start, 3) for start in range(0, mine.num_rows, 3)]


def assigned(job: CrossPartitionWrite, data: pa.Table, number: int) -> list[pa.RecordBatch]:
    """Simulate one run of an assigner."""
    return list(assigner(job)(iter(for_assigner(job, data, number))))


def answer(job: CrossPartitionWrite, sent: Iterable[pa.RecordBatch], task: int) -> Any:
    """Simulate one run of a writer with the rows of all assigners."""

    def rows() -> Iterator[pa.RecordBatch]:
        for batch in sent:
            mine = batch.filter(pa.array(batch.column(TASK).to_numpy() == task)).drop_columns([TASK])
            if mine.num_rows:
                yield mine

    names = [*job.names, "__place__", "__note__"]
    [found] = writer(job, names, None)(rows())
    return SimpleNamespace(**found.to_pylist()[0])


def write_shared(table: Table, data: pa.Table, assigners: int, tasks: int = 2, **how: Any) -> CrossPartitionWrite:
    """Write rows with several assigners and writers in one commit."""
    job = job_of(table, data, assigners, tasks, **how)
    sent = [batch for number in range(assigners) for batch in assigned(job, data, number)]
    answers = [answer(job, sent, task) for task in range(tasks)]
    gathered = gather(answers)
    if gathered.failure is not None:
        table.new_commit().abort(gathered.messages)
        raise gathered.failure
    assert find_repeated_assigner(job, answers) is None
    if job.replacing:
        table.new_commit().overwrite(gathered.messages)
    else:
        table.new_commit().commit(gathered.messages)
    return job
