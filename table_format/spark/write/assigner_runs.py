"""Which run of an assigner placed the rows that a writer got.

Spark runs a task again when what it sent is lost. The bucket of a new key depends on the keys before it, so the second
run may send a key elsewhere: one that a writer got from the first run another may get from the second, or none. Writers
therefore tell the driver of which runs they heard.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import pyarrow as pa

from table_format.spark.tasks.task_results import ANSWER, ANSWER_DDL

HEARD: Final = ANSWER.append(pa.field("runs", pa.list_(pa.string())))
HEARD_DDL: Final = f"{ANSWER_DDL}, runs array<string>"


def run_name(assigner: int, token: str) -> str:
    """The name of a run; ``token`` is no other run's."""
    return f"{assigner}:{token}"


def heard(outcome: tuple[bytes | None, str | None], runs: Iterable[str]) -> pa.RecordBatch:
    """The outcome of a writer's work and the runs it heard of, as the one row that travels back."""
    messages, failure = outcome
    columns: list[pa.Array] = [
        pa.array([messages], pa.binary()),
        pa.array([failure], pa.string()),
        pa.array([sorted(runs)], pa.list_(pa.string())),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=HEARD)


def ran_twice(answers: Iterable[Any]) -> tuple[str, ...]:
    """The numbers of the assigners of which writers heard two runs; from answers that have ``runs``."""
    found: dict[str, set[str]] = {}
    for answer in answers:
        for name in answer.runs:
            found.setdefault(name.partition(":")[0], set()).add(name)
    return tuple(sorted((number for number, runs in found.items() if len(runs) > 1), key=int))
