"""CPU seconds of the merge and sort kernels, without any I/O.

    python -m benchmarks.kernels                 # everything at full size: 4 runs of 2.5 million rows
    python -m benchmarks.kernels --rows 100000 --only index

The figure is the minimum CPU time (user and system, all threads) of the repetitions. The first call, which may load or
compile numba, is not counted. Run it pinned to one core (``taskset -c 0``) to compare with others.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from table_format.kernels.compiled import Backend
from table_format.kernels.merge import MergeSpec, grouped, merge_batches, winners
from table_format.kernels.sort import sort_and_merge

BY_AGE = MergeSpec(("k",), by_sequence_number=False)
BY_SEQUENCE = MergeSpec(("k",))
COMPOSITE = MergeSpec(("ks", "ki"), by_sequence_number=False)
BATCH_ROWS = 65_536


@dataclass(frozen=True, slots=True)
class Case:
    """Work to measure. It returns the number of resulting rows."""

    name: str
    rows_in: int
    run: Callable[[], int]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_500_000, help="rows of each of the four runs")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    arguments = parser.parse_args()
    print(f"{'case':<52}{'rows in':>12}{'rows out':>12}{'CPU s':>9}{'M rows/s':>10}")
    for make in (index_cases, composite_cases, stream_cases, sort_cases):
        if arguments.only and arguments.only not in make.__name__.removesuffix("_cases"):
            continue
        for case in make(arguments.rows):
            rows_out, seconds = measure(case, arguments.repeat)
            rate = case.rows_in / seconds / 1e6
            print(f"{case.name:<52}{case.rows_in:>12,}{rows_out:>12,}{seconds:>9.3f}{rate:>10.1f}", flush=True)


def measure(case: Case, repeat: int) -> tuple[int, float]:
    """Return the number of resulting rows and the minimum CPU time."""
    rows_out = case.run()
    times = []
    for _ in range(repeat):
        gc.collect()
        started = time.process_time()
        case.run()
        times.append(time.process_time() - started)
    return rows_out, min(times)


def index_cases(rows: int) -> Iterator[Case]:
    """Yield cases from keys in memory to row ids of the winners."""
    runs = [_run(_keys(rows, seed), seed * rows) for seed in range(4)]
    mixed = [run.set_column(1, "_SEQUENCE_NUMBER", pa.array(np.arange(rows) * 4 + i)) for i, run in enumerate(runs)]
    for backend in (Backend.COMPILED, Backend.NUMPY):
        yield Case(f"index, bigint, runs by age, {backend}", 4 * rows, _winners(runs, BY_AGE, backend))
        yield Case(f"index, bigint, overlapping sequences, {backend}", 4 * rows, _winners(mixed, BY_SEQUENCE, backend))
        yield Case(
            f"all versions, bigint, overlapping sequences, {backend}",
            4 * rows,
            lambda backend=backend: int(grouped(mixed, BY_SEQUENCE, backend=backend)[1].size),  # type: ignore[misc]
        )


def composite_cases(rows: int) -> Iterator[Case]:
    """A string of 15 bytes and an int as key."""
    runs = []
    for seed in range(4):
        keys = _keys(rows, seed)
        names = pa.array([f"customer{number:07d}" for number in range(2 * rows // 100 + 1)])
        runs.append(pa.record_batch({"ks": names.take(pa.array(keys // 100)), "ki": (keys % 100).astype(np.int32)}))
    for backend in (Backend.COMPILED, Backend.NUMPY):
        yield Case(f"index, (string, int), runs by age, {backend}", 4 * rows, _winners(runs, COMPOSITE, backend))


def stream_cases(rows: int) -> Iterator[Case]:
    """Yield cases with whole rows, batch by batch."""
    runs = [_with_payload(_run(_keys(rows, seed), seed * rows), seed) for seed in range(4)]
    for backend in (Backend.COMPILED, Backend.NUMPY):
        for ordered in (True, False):
            name = f"stream, {len(runs[0].schema)} columns, {'ordered' if ordered else 'unordered'}, {backend}"
            yield Case(name, 4 * rows, _stream(runs, backend, ordered=ordered))


def sort_cases(rows: int) -> Iterator[Case]:
    """A write buffer in random order."""
    rng = np.random.default_rng(1)
    near = _with_payload(_run(rng.permutation(_keys(rows, 0)), 0), 0)
    far = near.set_column(0, "k", pa.array(rng.integers(-(2**63), 2**63 - 1, rows)))
    for name, batch in (("narrow", near), ("64-bit", far)):
        yield Case(
            f"flush sort, {name} bigint, take of {len(batch.schema)} columns",
            rows,
            lambda batch=batch: sort_and_merge(batch, BY_AGE).num_rows,  # type: ignore[misc]
        )


def _keys(rows: int, seed: int) -> np.ndarray:
    """Return sorted distinct keys, half of twice as many."""
    return np.sort(np.random.default_rng(seed).choice(2 * rows, rows, replace=False, shuffle=False))


def _run(keys: np.ndarray, first_sequence: int) -> pa.RecordBatch:
    sequence = np.arange(first_sequence, first_sequence + keys.size)
    return pa.record_batch({"k": keys, "_SEQUENCE_NUMBER": sequence, "_VALUE_KIND": np.zeros(keys.size, np.int8)})


def _with_payload(run: pa.RecordBatch, seed: int) -> pa.RecordBatch:
    rng = np.random.default_rng(100 + seed)
    rows = run.num_rows
    words = pa.array([f"value-{n:014d}" for n in range(1000)])
    payload = {
        "i": pa.array(rng.integers(0, 1000, rows, dtype=np.int32)),
        "l": pa.array(rng.integers(0, 2**40, rows)),
        "d": pa.array(rng.random(rows)),
        "s1": words.take(pa.array(rng.integers(0, 1000, rows))),
        "s2": words.take(pa.array(rng.integers(0, 1000, rows))),
        "p": pa.array(rng.integers(0, 10**6, rows)).cast(pa.decimal128(19, 0)).cast(pa.decimal128(18, 2), safe=False),
        "t": pa.array(rng.integers(0, 2**50, rows)).cast(pa.timestamp("us")),
    }
    return pa.RecordBatch.from_arrays([*run.columns, *payload.values()], names=[*run.schema.names, *payload])


def _winners(runs: Sequence[pa.RecordBatch], spec: MergeSpec, backend: Backend) -> Callable[[], int]:
    return lambda: int(winners(runs, spec, backend=backend).size)


def _stream(runs: Sequence[pa.RecordBatch], backend: Backend, *, ordered: bool) -> Callable[[], int]:
    def batches(run: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        return (run.slice(first, BATCH_ROWS) for first in range(0, run.num_rows, BATCH_ROWS))

    def merge() -> int:
        merged = merge_batches([batches(run) for run in runs], BY_AGE, ordered=ordered, backend=backend)
        return sum(batch.num_rows for batch in merged)

    return merge


if __name__ == "__main__":
    main()
