"""What the processes of the races do."""

from __future__ import annotations

from multiprocessing.connection import Connection
from threading import Barrier

from table_format import Table, load_catalog
from table_format.errors import HashIndexChanged, KeyPlacesChanged
from table_format.io.local import LocalFileIO
from table_format.io.table_store import TableStore
from table_format.metastore.commit.table_commit import TableCommit
from table_format.metastore.expiry.expire_snapshots import expire_snapshots
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.model.commit import Committable
from table_format.model.schema_change import SetOption
from table_format.options.table_options import TableOptions
from table_format.runtime import Runtime
from tests.races.below import Below
from tests.simulation.sum_table import PATHS, message, partition, schema_with, write_rows
from tests.support.tables import keyed

OPTIONS = {"manifest.merge-min-count": "4", "commit.max-retries": "100"}


def create_every_name(root: str, who: int, rounds: int, barrier: Barrier, sender: Connection) -> None:
    """Try to create ``snapshot-0 ...`` in step with the others; report the rounds that were won."""
    io = LocalFileIO()
    won = []
    for number in range(rounds):
        barrier.wait()
        try:
            io.create(f"{root}/snapshot-{number}", content_of(who))
        except FileExistsError:
            continue
        won.append(number)
    sender.send(won)


def create_until_killed(root: str, who: int, sender: Connection) -> None:
    """Create the lowest free name again and again; report each name after it is won."""
    io = LocalFileIO()
    number = 0
    while True:
        try:
            io.create(f"{root}/snapshot-{number}", content_of(who))
        except FileExistsError:
            number += 1
            continue
        sender.send(number)


def content_of(who: int) -> bytes:
    """Bytes that show who wrote them and whether they are all there."""
    return b"%08d" % who * 5_000


def commit_in_turn(root: str, who: int, first: int, last: int, sender: Connection) -> None:
    """Commit the jobs ``first`` to ``last`` of one user, as a job that continues from a checkpoint; report each."""
    store = TableStore(Below(LocalFileIO(), root), PATHS, Runtime())
    options = TableOptions.parse(schema_with(OPTIONS).options)
    commit = TableCommit(store, SchemaStore(store), options, f"w{who}")
    for identifier in range(first, last + 1):
        if commit.filter_committed([identifier], since=0):
            row, bucket = partition(who % 2), identifier % 2
            file = write_rows(store.io, store.runtime, row, bucket, rows_of(who, identifier))
            commit.commit(Committable(identifier=identifier, messages=(message(row, bucket, new_files=[file]),)))
        sender.send(identifier)


def rows_of(who: int, identifier: int) -> dict[int, int]:
    """What a job writes: an amount that no other job writes."""
    return {who: 1 << identifier}


def expire_all_but_one(root: str, rounds: int, sender: Connection) -> None:
    """Expire as much as may go, again and again."""
    store = TableStore(Below(LocalFileIO(), root), PATHS, Runtime())
    options = TableOptions.parse(schema_with(OPTIONS).options)
    for _ in range(rounds):
        report = expire_snapshots(store, options, retain_max=1, retain_min=1, retain_floor_ms=0)
        sender.send(report.snapshot_ids)


def keys_of_round(who: int, number: int) -> range:
    """Keys of one round of a process: they overlap with those of its neighbours and of its other rounds."""
    return range(5 * who + 3 * number, 5 * who + 3 * number + 11)


def upsert_overlapping_keys(warehouse: str, who: int, first: int, rounds: int, sender: Connection) -> None:
    """Upsert round after round into ``db.t``, each again until it is committed; report each."""
    options = {"warehouse": f"{warehouse}/warehouse", "local-cache.dir": f"{warehouse}/cache"}
    table = load_catalog(options).load_table("db.t")
    assert isinstance(table, Table)
    table = table.copy({"commit.max-retries": "100"})
    for number in range(first, rounds):
        rows = keyed([(key, f"p{who}", 100 * who + number) for key in keys_of_round(who, number)])
        while True:
            try:
                table.append(rows, commit_user=f"w{who}", identifier=number)
            except (HashIndexChanged, KeyPlacesChanged):
                continue
            break
        sender.send(number)


def append_and_compact(warehouse: str, who: int, rounds: int, sender: Connection) -> None:
    """Append a row to ``db.t`` and compact it, round after round; report each."""
    table = load_catalog({"warehouse": warehouse}).load_table("db.t")
    assert isinstance(table, Table)
    for number in range(rounds):
        table.append(keyed([(1000 * who + number, f"p{who}", number)]))
        if number % 3 == 2:
            # Rewrites of indexes win some of the buckets.
            table.run_compaction(full=True)
        sender.send(number)


def declare_and_rewrite_indexes(warehouse: str, rounds: int, sender: Connection) -> None:
    """Declare other indexes of ``db.t`` and rewrite its files, round after round; report how many files."""
    catalog = load_catalog({"warehouse": warehouse})
    for number in range(rounds):
        columns = "v" if number % 2 else "v,id"
        table = catalog.alter_table("db.t", SetOption("file-index.bitmap.columns", columns))
        sender.send(table.rewrite_file_index().rewritten)
