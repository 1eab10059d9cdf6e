"""Work on many files, side by side where it is asked for."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import CancelledError, Future
from pathlib import Path
from threading import Barrier, get_ident

import pyarrow as pa
import pytest

from table_format import Schema, Table, load_catalog
from table_format.io.local import LocalFileIO
from table_format.io.threads import EndingThreads, failure_of, side_by_side
from table_format.metastore.manifest.manifest_store import ManifestStore
from tests.support.interrupts import interrupted_wait

_ROWS = pa.table({"k": pa.array([1], pa.int64())})


def table_of_two_commits(warehouse: Path, **options: str) -> Table:
    catalog = load_catalog({"warehouse": str(warehouse)})
    catalog.create_database("db")
    given = {key.replace("_", "-").replace("--", "."): value for key, value in options.items()}
    table = catalog.create_table("db.t", Schema.from_arrow(_ROWS.schema, options=given))
    table.append(_ROWS)
    table.append(_ROWS)
    return table


def test_results_are_in_order_and_nothing_runs_beside_unless_it_is_asked_for():
    assert side_by_side(str, [3, 1, 2], 8) == ["3", "1", "2"]
    assert side_by_side(lambda _: get_ident(), [1, 2, 3], None) == [get_ident()] * 3
    assert side_by_side(str, [], 4) == []
    with pytest.raises(ZeroDivisionError):
        side_by_side(lambda n: 1 // n, [1, 0], 2)


def test_an_interrupt_is_raised_when_all_threads_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    again = interrupted_wait(monkeypatch)
    running: list[Future[bool]] = []
    with pytest.raises(KeyboardInterrupt), EndingThreads(2) as pool:
        running.extend(pool.submit(again.wait, 30) for _ in range(2))
    assert [done.done() and done.result() for done in running] == [True, True]


def test_an_interrupt_cancels_the_work_that_has_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    again = interrupted_wait(monkeypatch)
    running: list[Future[bool]] = []
    with pytest.raises(KeyboardInterrupt), EndingThreads(1) as pool:
        running.extend(pool.submit(again.wait, 30) for _ in range(5))
    assert all(done.done() for done in running)
    assert isinstance(failure_of(running[-1]), CancelledError)


_INTERRUPTED = """
import os, signal, sys, threading
from table_format.io.threads import EndingThreads

begun, go = threading.Event(), threading.Event()

def work():
    begun.set()
    go.wait(30)
    for _ in range(10_000_000):  # takes much longer than the way to the print
        pass

def is_left(frame):
    return frame is not None and (frame.f_code.co_name == "__exit__" or is_left(frame.f_back))

def interrupt():
    begun.wait(30)
    while not is_left(sys._current_frames()[threading.main_thread().ident].f_back):
        pass
    os.kill(os.getpid(), signal.SIGINT)
    go.set()

try:
    with EndingThreads(1) as pool:
        running = pool.submit(work)
        threading.Thread(target=interrupt).start()
except KeyboardInterrupt:
    print(running.done())
"""


def test_work_has_ended_after_ctrl_c() -> None:
    assert subprocess.run([sys.executable, "-c", _INTERRUPTED], capture_output=True, check=True).stdout == b"True\n"


def test_a_plan_reads_so_many_manifests_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    table = table_of_two_commits(tmp_path, scan__manifest__parallelism="2")
    both = Barrier(2, timeout=30)
    load = ManifestStore._load_manifest

    def load_together(store: ManifestStore, *arguments: object) -> object:
        both.wait()
        return load(store, *arguments)

    monkeypatch.setattr(ManifestStore, "_load_manifest", load_together)
    fresh = load_catalog({"warehouse": str(tmp_path)}).load_table("db.t")
    assert fresh.scan().to_arrow().num_rows == table.scan().to_arrow().num_rows == 2


def test_expiry_deletes_so_many_files_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    table = table_of_two_commits(tmp_path, file_operation__thread_num="2")
    table.overwrite(_ROWS)
    both, delete = Barrier(2, timeout=30), LocalFileIO.delete

    def delete_together(io: LocalFileIO, path: str) -> object:
        if "/bucket-0/" in path:
            both.wait()
        return delete(io, path)

    monkeypatch.setattr(LocalFileIO, "delete", delete_together)
    table.expire_snapshots(retain_max=1, retain_min=1, older_than_ms=2**60, retain_floor_ms=0)
    assert [snapshot.id for snapshot in table.snapshots()] == [3]
    assert len(list(tmp_path.glob("db.db/t/bucket-0/*"))) == 1
