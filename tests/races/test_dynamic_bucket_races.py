"""Processes that upsert overlapping keys into one table that gives them places, some killed: none twice, none lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.races.processes import Worker
from tests.races.workers import keys_of_round, upsert_overlapping_keys
from tests.support.dynamic_buckets import assert_sound
from tests.support.tables import disk_warehouse, rows_of


@pytest.mark.parametrize("kills", [0, 3])
def test_processes_that_upsert_the_same_keys_put_none_into_two_buckets(tmp_path: Path, kills: int) -> None:
    options = {"bucket": "-1", "dynamic-bucket.target-row-num": "7", "write-only": "true"}
    table = disk_warehouse(tmp_path / "warehouse").table(primary_keys=["id"], options=options)
    rounds = 3
    workers = [Worker(upsert_overlapping_keys, str(tmp_path), who, 0, rounds) for who in range(8)]
    told: list[list[object]] = [[] for _ in workers]
    for who in range(kills):
        told[who].append(workers[who].next_report())
        workers[who].kill()
    for who in range(kills):
        told[who] += workers[who].reports()
        # A job begins again with the round it was not told of, under its user: what is committed is skipped.
        workers[who] = Worker(upsert_overlapping_keys, str(tmp_path), who, len(told[who]), rounds)
    for who, worker in enumerate(workers):
        told[who] += worker.reports()
        assert told[who] == list(range(rounds))
    assert_sound(table, exact=True)
    assert len(table.snapshots()) == 8 * rounds
    found = {key: value for key, _, value in rows_of(table)}
    assert found.keys() == {key for who in range(8) for number in range(rounds) for key in keys_of_round(who, number)}
    # The last word of each key is that of a job that wrote it.
    assert all(key in keys_of_round(value // 100, value % 100) for key, value in found.items())


def test_processes_that_move_the_same_keys_put_none_into_two_partitions(tmp_path: Path) -> None:
    options = {"bucket": "-1", "write-only": "true"}
    table = disk_warehouse(tmp_path / "warehouse").table(primary_keys=["id"], partition_keys=["dt"], options=options)
    rounds = 2
    workers = [Worker(upsert_overlapping_keys, str(tmp_path), who, 0, rounds) for who in range(3)]
    told = [workers[0].next_report()]
    workers[0].kill()
    told += workers[0].reports()
    workers[0] = Worker(upsert_overlapping_keys, str(tmp_path), 0, len(told), rounds)
    assert [*told, *workers[0].reports()] == list(range(rounds))
    for worker in workers[1:]:
        assert worker.reports() == list(range(rounds))
    assert len(table.snapshots()) == 3 * rounds
    found = rows_of(table)
    assert {key for key, _, _ in found} == {
        key for who in range(3) for n in range(rounds) for key in keys_of_round(who, n)
    }
    assert len({key for key, _, _ in found}) == len(found)
    assert all(partition == f"p{value // 100}" for _, partition, value in found)
