"""A process that is sent SIGINT at random moments loses no row and no snapshot, and lives on.

``SIGINT_ROUNDS=200`` makes a long run of it.
"""

from __future__ import annotations

import os
import random

import pyarrow as pa

from table_format import Schema, Table, load_catalog
from tests.races.interrupted import ROWS_OF_ROUND, work_under_signals
from tests.races.processes import Worker
from tests.support.reachable import check_files

ROUNDS = int(os.environ.get("SIGINT_ROUNDS", "6"))
FUTURE = 1 << 60
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.int64())])


def test_a_process_that_is_interrupted_again_and_again_loses_nothing(tmp_path):
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    catalog.create_table("db.log", Schema.from_arrow(SCHEMA))
    catalog.create_table("db.kv", Schema.from_arrow(SCHEMA, ["id"], [], {"bucket": "2"}))
    worker = Worker(work_under_signals, str(tmp_path), ROUNDS)
    assert worker.next_report() == "ready"
    chance = random.Random(7)
    while not worker.reports_within(chance.choice((0.002, 0.02, 0.1, 0.3))):
        worker.interrupt()
    assert worker.next_report() >= ROUNDS // 2
    for name in ("db.log", "db.kv"):
        table = catalog.load_table(name)
        assert isinstance(table, Table)
        assert sorted(table.scan().to_arrow().column("id").to_pylist()) == list(range(ROUNDS * ROWS_OF_ROUND))
        check_every_snapshot(table)
        table.remove_orphan_files(older_than_ms=FUTURE, nobody_else_writes=True)
        check_files(table)
        check_every_snapshot(table)


def check_every_snapshot(table: Table) -> None:
    """Each snapshot holds all rows of some rounds."""
    seen = 0
    for snapshot in table.snapshots():
        found = table.scan(options={"scan.snapshot-id": str(snapshot.id)}).to_arrow().column("id").to_pylist()
        assert sorted(found) == list(range(len(found)))
        assert len(found) % ROWS_OF_ROUND == 0
        assert len(found) >= seen
        seen = len(found)
