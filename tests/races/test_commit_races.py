"""Commits between real processes on a real disk, killed wherever they are: every job is committed exactly once."""

from __future__ import annotations

from collections import Counter

import pytest

from table_format.codecs.snapshot_json import decode_snapshot
from table_format.io.local import LocalFileIO
from tests.races.below import Below
from tests.races.processes import Worker
from tests.races.workers import OPTIONS, commit_in_turn, expire_all_but_one, rows_of
from tests.simulation.states import Intent, State, StateReader
from tests.simulation.sum_table import PATHS, Content, create_table, partition


def history_of(root, jobs):
    """All snapshots from the first on, each checked against the one before it."""
    io = Below(LocalFileIO(), root)
    reader = StateReader(io.read)
    states: list[State] = []
    while io.status(PATHS.snapshot(len(states) + 1)) is not None:
        path = PATHS.snapshot(len(states) + 1)
        snapshot = decode_snapshot(io.read(path), path=path)
        who, identifier = int(snapshot.commit_user[1:]), snapshot.commit_identifier
        rows = Content({(partition(who % 2), identifier % 2, key): a for key, a in rows_of(who, identifier).items()})
        states.append(reader.derive(snapshot, states[-1] if states else None, Intent(rows)))
    committed = Counter((s.snapshot.commit_user, s.snapshot.commit_identifier) for s in states)
    assert committed == Counter(jobs)
    assert len(io.list(PATHS.snapshot_directory)) == len(states) + 2  # and the two hints
    return states


def jobs_of(workers, last):
    return [(f"w{who}", identifier) for who in range(workers) for identifier in range(1, last + 1)]


def test_processes_that_commit_to_one_table_all_land_once(tmp_path):
    create_table(Below(LocalFileIO(), str(tmp_path)), OPTIONS)
    workers = [Worker(commit_in_turn, str(tmp_path), who, 1, 6) for who in range(4)]
    assert [worker.reports() for worker in workers] == [list(range(1, 7))] * 4
    assert len(history_of(str(tmp_path), jobs_of(4, 6))) == 24


@pytest.mark.parametrize("reports_before_death", [1, 3, 6])
def test_jobs_of_killed_processes_land_once_when_they_are_restarted(tmp_path, reports_before_death):
    create_table(Below(LocalFileIO(), str(tmp_path)), OPTIONS)
    workers = [Worker(commit_in_turn, str(tmp_path), who, 1, 8) for who in range(3)]
    told = [workers[0].next_report() for _ in range(reports_before_death)]
    workers[0].kill()
    workers[1].kill()
    told_before = [[*told, *workers[0].reports()], workers[1].reports()]
    # A job begins again after what it was told, and asks whether more of it is committed.
    again = [Worker(commit_in_turn, str(tmp_path), who, len(told_before[who]) + 1, 8) for who in range(2)]
    for who, worker in enumerate(again):
        assert [*told_before[who], *worker.reports()] == list(range(1, 9))
    assert workers[2].reports() == list(range(1, 9))
    history_of(str(tmp_path), jobs_of(3, 8))


def test_expiry_killed_in_the_middle_is_ended_by_the_next(tmp_path):
    create_table(Below(LocalFileIO(), str(tmp_path)), OPTIONS)
    assert Worker(commit_in_turn, str(tmp_path), 0, 1, 12).reports() == list(range(1, 13))
    last = history_of(str(tmp_path), jobs_of(1, 12))[-1]
    killed = Worker(expire_all_but_one, str(tmp_path), 1)
    killed.kill()
    killed.reports()
    reports = Worker(expire_all_but_one, str(tmp_path), 2).reports()
    assert reports[-1] == ()
    io = Below(LocalFileIO(), str(tmp_path))
    assert [s.name for s in io.list(PATHS.snapshot_directory)] == ["EARLIEST", "LATEST", "snapshot-12"]
    kept = {path.rpartition("/")[2] for path in last.paths}
    assert {s.name for s in io.list(PATHS.manifest_directory)} == {name for name in kept if "manifest" in name}
    assert all(io.status(path) is not None for path in last.paths)
