"""One task or many give keys their buckets and write them: a key has one bucket, and the index knows it.

The tasks of a job are acted out here in one process, some of them twice, as when their first answer was lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from table_format import Table
from table_format.errors import HashIndexChanged
from table_format.kernels.hash_buckets import assigner_of
from table_format.kernels.hashing import row_hashes
from table_format.model.commit import CommitMessage
from table_format.model.snapshot import Snapshot
from table_format.table.placement import dynamic as dynamic_buckets
from table_format.table.placement.assigners import GivenBuckets, WritingAssigner
from table_format.table.placement.dynamic import DynamicBuckets, are_apart
from table_format.table.write.table_write import TableWrite
from tests.support.dynamic_buckets import assert_sound, index_of
from tests.support.tables import keyed, memory_warehouse, rows_of

Indexes = npt.NDArray[np.int64]
BUCKET = "__bucket__"


@dataclass(frozen=True)
class Job:
    """One write: by ``tasks`` that write, with ``assigners``; 0 of them is one task that does both alone."""

    rows: list[tuple[str, int]]
    assigners: int
    tasks: int
    replacing: bool
    repeated: frozenset[int]


JOBS = st.builds(
    Job,
    rows=st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 25)), min_size=1, max_size=14),
    assigners=st.sampled_from([0, 1, 2, 2, 3]),
    tasks=st.integers(1, 3),
    replacing=st.sampled_from([False, False, False, True]),
    repeated=st.frozensets(st.integers(0, 2)),
)


@given(st.lists(JOBS, min_size=1, max_size=4), st.booleans(), st.integers(1, 4), st.sampled_from([-1, -1, 3]))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_a_key_has_one_bucket_however_it_is_written(
    jobs: list[Job], partitioned: bool, target: int, max_buckets: int
) -> None:
    options = {
        "bucket": "-1",
        "dynamic-bucket.target-row-num": str(target),
        "dynamic-bucket.max-buckets": str(max_buckets),
        "write-only": "true",
    }
    keys = ["id", "dt"] if partitioned else ["id"]
    table = memory_warehouse().table(primary_keys=keys, partition_keys=keys[1:], options=options)
    expected: dict[tuple[object, ...], tuple[int, str, int]] = {}
    for turn, job in enumerate(jobs):
        data = keyed([(i, dt, 100 * turn + n) for n, (dt, i) in enumerate(job.rows)])
        if job.replacing:
            gone = {dt for dt, _ in job.rows}
            expected = {key: row for key, row in expected.items() if partitioned and row[1] not in gone}
        expected |= {(row[0], row[1] if partitioned else None): row for row in _tuples(data)}
        _run(table, data, job)
        assert_sound(table, exact=True)
        assert sorted(rows_of(table)) == sorted(expected.values())


def _run(table: Table, data: pa.Table, job: Job) -> None:
    base = table.latest_snapshot()
    commit = table.new_commit()
    limit = table.facts.options.bucket.max_dynamic_buckets
    assigners = min(job.assigners, limit) if limit > 0 else job.assigners
    if not assigners:
        messages = list(TableWrite(table.facts, replacing=job.replacing).write(data))
    elif job.replacing or are_apart(table.facts, base, assigners):
        messages = _by_assigners(table, data, base, job, assigners)
        places = [(message.partition, message.bucket) for message in messages]
        assert len(places) == len(set(places)), "two tasks met in a bucket"
    else:
        messages = _in_two_stages(table, data, base, job, assigners)
    publish = commit.overwrite if job.replacing else commit.commit
    publish(messages)


def _by_assigners(table: Table, data: pa.Table, base: Snapshot | None, job: Job, assigners: int) -> list[CommitMessage]:
    messages: list[CommitMessage] = []
    for task, mine in _shares(_owners(table, data, assigners) + _shift(table, data), job.tasks):
        for _ in range(1 + (task in job.repeated)):
            write = TableWrite(table.facts, replacing=job.replacing, assignment=WritingAssigner(assigners, base))
            answer = write.write(data.take(pa.array(mine)))
        messages.extend(answer)
    return messages


def _in_two_stages(
    table: Table, data: pa.Table, base: Snapshot | None, job: Job, assigners: int
) -> list[CommitMessage]:
    facts = table.facts
    buckets = np.empty(data.num_rows, np.int64)
    names = [*facts.schema.partition_keys, *facts.schema.trimmed_primary_keys]
    for _, mine in _shares(_owners(table, data, assigners), assigners):
        chooser = DynamicBuckets(facts, replacing=job.replacing, assigners=assigners)
        chooser.begin(base, frozenset())
        for piece in np.array_split(mine, 2):
            keys = data.select(names).take(pa.array(piece)).combine_chunks()
            for batch in keys.to_batches():
                buckets[piece] = chooser.choose(batch)
    with_buckets = data.append_column(BUCKET, pa.array(buckets, pa.int32()))
    messages: list[CommitMessage] = []
    for task, mine in _shares(buckets + _shift(table, data), job.tasks):
        for _ in range(1 + (task in job.repeated)):
            write = TableWrite(facts, replacing=job.replacing, assignment=GivenBuckets(BUCKET, base))
            answer = write.write(with_buckets.take(pa.array(mine)))
        messages.extend(answer)
    return messages


def _owners(table: Table, data: pa.Table, assigners: int) -> Indexes:
    ids = data.column("id").combine_chunks()
    return assigner_of(row_hashes([table.schema.field("id").type], [ids]), assigners).astype(np.int64)


def _shift(table: Table, data: pa.Table) -> Indexes:
    """Each partition begins to count tasks elsewhere."""
    if not table.schema.partition_keys:
        return np.zeros(data.num_rows, np.int64)
    return np.array([ord(dt) for dt in data.column("dt").to_pylist()], np.int64)


def _shares(numbers: Indexes, tasks: int) -> Iterator[tuple[int, Indexes]]:
    for task in range(tasks):
        mine = np.flatnonzero(numbers % tasks == task)
        if len(mine):
            yield task, mine


def _tuples(data: pa.Table) -> Iterator[tuple[int, str, int]]:
    yield from zip(*(column.to_pylist() for column in data.columns), strict=True)


# --- when assigners may write ----------------------------------------------------------------------------------------


def _dynamic(target: int = 2) -> Table:
    options = {"bucket": "-1", "dynamic-bucket.target-row-num": str(target), "write-only": "true"}
    return memory_warehouse().table(primary_keys=["id"], options=options)


def _all(count: int, assigners: int) -> Job:
    return Job([("a", i) for i in range(count)], assigners, assigners, replacing=False, repeated=frozenset())


def _write(table: Table, job: Job) -> None:
    _run(table, keyed([(i, dt, i) for dt, i in job.rows]), job)


def test_assigners_write_what_jobs_with_as_many_have_placed(monkeypatch: pytest.MonkeyPatch) -> None:
    table = _dynamic()
    assert are_apart(table.facts, None, 3)
    _write(table, _all(20, 3))
    facts, latest = table.facts, table.latest_snapshot()
    assert are_apart(facts, latest, 3)
    assert are_apart(facts, latest, 1)
    assert not are_apart(facts, latest, 2)
    monkeypatch.setattr(dynamic_buckets, "CHECKED_HASHES", 19)
    assert not are_apart(facts, latest, 3)
    monkeypatch.undo()
    # One that fills whatever is open spoils it.
    table.append(keyed([(i, "a", i) for i in range(100, 110)]))
    assert not are_apart(facts, table.latest_snapshot(), 3)
    assert_sound(table, exact=True)


def test_an_assigner_reads_only_the_index_of_its_own_buckets() -> None:
    table = _dynamic(target=3)
    _write(table, _all(30, 2))
    facts, base = table.facts, table.latest_snapshot()
    assert base is not None
    owners = _owners(table, keyed([(i, "a", 0) for i in range(30)]), 2)
    mine = [int(i) for i in np.flatnonzero(owners == 1)]
    # The files of the other are not even there.
    for entry in facts.manifests.index_entries(base):
        if entry.bucket % 2 == 0:
            facts.delete_index_file(entry.partition, entry.bucket, entry.index_file)
    write = TableWrite(facts, assignment=WritingAssigner(2, base))
    messages = write.write(keyed([(i, "a", 7) for i in mine]))
    assert {message.bucket % 2 for message in messages} == {1}
    assert not any(message.new_index_files for message in messages)


def test_assigners_rest_on_the_snapshot_they_are_told() -> None:
    table = _dynamic()
    _write(table, _all(10, 2))
    base = table.latest_snapshot()
    write = TableWrite(table.facts, assignment=WritingAssigner(2, base))
    table.append(keyed([(50, "a", 50)]))
    mine = [i for i in range(60, 80) if _owners(table, keyed([(i, "a", 0)]), 2)[0] == 0]
    messages = write.write(keyed([(i, "a", i) for i in mine]))
    commit = table.new_commit()
    with pytest.raises(HashIndexChanged):
        commit.commit(messages)
    commit.abort(messages)
    assert sum(len(hashes) for hashes in index_of(table).values()) == 11
    assert_sound(table, exact=True)
