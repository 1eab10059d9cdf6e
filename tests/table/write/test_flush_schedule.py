"""When many writers flush: memory and open files have a bound, and nothing that succeeded gets lost."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pytest

from table_format.model.bucket_id import BucketId
from table_format.model.commit import CommitMessage
from table_format.table.write import flush_schedule
from table_format.table.write.bucket_writer import BucketWriter, Compaction
from table_format.table.write.compaction_policy import CompactionRound
from table_format.table.write.flush_schedule import FlushSchedule
from tests.support.interrupts import interrupted_wait

ROWS = pa.record_batch({"v": pa.array(range(100), pa.int64())})


class Writer:
    """A writer that notes what it is asked to do."""

    def __init__(self, bucket: int, *, buffers_rows: bool, fails: bool = False) -> None:
        self.bucket_id = BucketId(b"", bucket)
        self.buffers_rows = buffers_rows
        self.fails = fails
        self.calls: list[object] = []

    def write(self, batch: pa.RecordBatch) -> None:
        self.calls.append("write")

    def prepare(self, *, compact: Compaction) -> CommitMessage:
        self.calls.append(compact)
        if self.fails:
            raise OSError(self.bucket_id)
        return CommitMessage(partition=b"", bucket=self.bucket_id.bucket, total_buckets=-1)

    def begin_compaction(self) -> None:
        self.calls.append("begin compaction")

    def finish(self) -> CommitMessage:
        return self.prepare(compact=False)

    def were_committed(self, names: Iterable[str]) -> None:
        self.calls.append(tuple(names))

    def release(self) -> None:
        self.calls.append("release")

    def abort(self) -> None:
        self.calls.append("abort")


def schedule(*writers: Writer, buffer_rows: int) -> tuple[FlushSchedule, list[int]]:
    kept: list[int] = []
    by_id: dict[BucketId, BucketWriter] = {writer.bucket_id: writer for writer in writers}
    return FlushSchedule(by_id, buffer_rows * ROWS.nbytes, lambda message: kept.append(message.bucket)), kept


def test_all_writers_flush_when_their_rows_together_fill_the_buffer() -> None:
    writers = [Writer(n, buffers_rows=True) for n in range(3)]
    flushes, kept = schedule(*writers, buffer_rows=2)
    for writer in writers[:2]:
        flushes.wrote(writer.bucket_id, ROWS)
    assert kept == []
    flushes.wrote(writers[2].bucket_id, ROWS)
    assert kept == [0, 1, 2]
    assert [writer.calls for writer in writers] == [[False]] * 3


def test_a_writer_alone_keeps_to_its_own_buffer() -> None:
    writer = Writer(0, buffers_rows=True)
    flushes, kept = schedule(writer, buffer_rows=1)
    for _ in range(5):
        flushes.wrote(writer.bucket_id, ROWS)
    assert kept == []


def test_rows_in_open_files_may_be_several_times_the_buffer() -> None:
    writers = [Writer(n, buffers_rows=False) for n in range(2)]
    flushes, kept = schedule(*writers, buffer_rows=1)
    for _ in range(flush_schedule.OPEN_FILES_FACTOR):
        flushes.wrote(writers[0].bucket_id, ROWS)
    assert kept == []
    flushes.wrote(writers[1].bucket_id, ROWS)
    assert kept == [0, 1]


def test_of_too_many_open_files_the_one_without_rows_for_longest_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flush_schedule, "MAX_OPEN_FILES", 2)
    writers = [Writer(n, buffers_rows=False) for n in range(3)]
    flushes, kept = schedule(*writers, buffer_rows=100)
    for number in (0, 1, 0, 2):
        flushes.wrote(writers[number].bucket_id, ROWS)
    assert kept == [1]


@pytest.mark.parametrize("parallel", [False, True])
def test_each_bucket_is_compacted_as_the_round_says(parallel: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flush_schedule, "MIN_PARALLEL_BYTES", 0 if parallel else 1 << 40)
    writers = [Writer(n, buffers_rows=True) for n in range(2)]
    flushes, kept = schedule(*writers, buffer_rows=100)
    flushes.flush(CompactionRound(others=True, full=frozenset({writers[1].bucket_id})))
    assert kept == [0, 1]
    assert [writer.calls for writer in writers] == [[True, "begin compaction"], ["full"]]


def test_what_was_flushed_beside_a_failure_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flush_schedule, "MIN_PARALLEL_BYTES", 0)
    writers = [Writer(n, buffers_rows=True, fails=n == 1) for n in range(3)]
    flushes, kept = schedule(*writers, buffer_rows=100)
    with pytest.raises(OSError, match="BucketId"):
        flushes.flush(CompactionRound(others=True))
    assert kept == [0, 2]
    assert not any("begin compaction" in writer.calls for writer in writers)


def test_what_was_flushed_until_an_interrupt_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flush_schedule, "MIN_PARALLEL_BYTES", 0)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    again = interrupted_wait(monkeypatch)

    class Slow(Writer):
        def prepare(self, *, compact: Compaction) -> CommitMessage:
            again.wait(30)
            return super().prepare(compact=compact)

    writers = [Slow(n, buffers_rows=True) for n in range(4)]
    flushes, kept = schedule(*writers, buffer_rows=100)
    with pytest.raises(KeyboardInterrupt):
        flushes.flush(CompactionRound(others=True))
    assert kept == [writer.bucket_id.bucket for writer in writers if writer.calls]
    assert kept[:2] == [0, 1]
