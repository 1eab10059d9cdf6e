"""Identifies the run of an assigner that placed the rows of a writer.

Spark runs a task again if its output is lost. The bucket of a new key depends on the keys before it, so the second run
may send a key to another writer. A key may then reach two writers, or none. Writers therefore report to the driver
which runs their rows came from.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import pyarrow as pa

from table_format.spark.tasks.task_results import RESULT_DDL, RESULT_SCHEMA

RESULT_WITH_RUNS: Final = RESULT_SCHEMA.append(pa.field("runs", pa.list_(pa.string())))
RESULT_WITH_RUNS_DDL: Final = f"{RESULT_DDL}, runs array<string>"


def run_name(assigner: int, token: str) -> str:
    """Return the name of a run. ``token`` must be unique."""
    return f"{assigner}:{token}"


def result_with_runs(outcome: tuple[bytes | None, str | None], runs: Iterable[str]) -> pa.RecordBatch:
    """Return the outcome of a writer and the runs of its rows as one row."""
    messages, failure = outcome
    columns: list[pa.Array] = [
        pa.array([messages], pa.binary()),
        pa.array([failure], pa.string()),
        pa.array([sorted(runs)], pa.list_(pa.string())),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=RESULT_WITH_RUNS)


def repeated_assigners(results: Iterable[Any]) -> tuple[str, ...]:
    """Return the numbers of the assigners whose rows came from several runs, from the ``runs`` of the results."""
    found: dict[str, set[str]] = {}
    for result in results:
        for name in result.runs:
            found.setdefault(name.partition(":")[0], set()).add(name)
    return tuple(sorted((number for number, runs in found.items() if len(runs) > 1), key=int))
