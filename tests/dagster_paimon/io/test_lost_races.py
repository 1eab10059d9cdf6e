"""An asset whose commit loses a race writes again if ``Table.append`` would, and is committed once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import dagster as dg
import pyarrow as pa
import pytest

from dagster_paimon.io.arrow_writer import ArrowWriter
from dagster_paimon.io.commits import Committer
from dagster_paimon.io.evolution import SchemaEvolution
from dagster_paimon.io.frame_writer import PLAIN, Handling, Messages
from dagster_paimon.io.writing import WriteMode, WriteSpec, Written, write_output
from table_format import Catalog, Table, load_catalog
from table_format.errors import CommitOutcomeUnknown, HashIndexChanged
from table_format.io.memory import MemoryFileIO
from table_format.table.facts import TableFacts
from table_format.table.write.batch_commit import BatchCommit
from tests.support.dynamic_buckets import assert_sound
from tests.support.metastore_table import HookedFileIO, once
from tests.support.reachable import check_files

OPTIONS = {"bucket": "-1", "dynamic-bucket.target-row-num": "2"}
SPEC = WriteSpec.of("db.t", {"paimon/primary_key": "id", "paimon/options": OPTIONS}, default_mode=WriteMode.upsert)


def rows(*ids: int, value: str = "a") -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "v": [value] * len(ids)})


class Overtaken(ArrowWriter):
    """Lets other writers act each time after its rows are written."""

    def __init__(self, frame: pa.Table | pa.RecordBatchReader, others: Callable[[int], object]) -> None:
        super().__init__(frame)
        self.times = 0
        self._others = others

    def write(self, facts: TableFacts, *, replacing: bool, handling: Handling = PLAIN) -> Messages:
        messages = super().write(facts, replacing=replacing, handling=handling)
        self.times += 1
        self._others(self.times)
        return messages


@pytest.fixture
def catalog() -> Catalog:
    return load_catalog({"warehouse": "/w"}, file_io=MemoryFileIO())


def output(catalog: Catalog, frame: ArrowWriter, user: str = "dagster:run:step") -> Written:
    return write_output(
        catalog,
        SPEC,
        frame,
        Committer(user=user, properties={}),
        partitions=(),
        evolution=SchemaEvolution.error,
        create=True,
    )


def table_of(catalog: Catalog) -> Table:
    table = catalog.load_table("db.t")
    assert isinstance(table, Table)
    return table


def found(catalog: Catalog) -> list[tuple[int, str]]:
    read = table_of(catalog).scan().to_arrow().sort_by("id").to_pylist()
    return [(row["id"], row["v"]) for row in read]


def others_add_keys(catalog: Catalog, times: int) -> Callable[[int], object]:
    """Return another writer that assigns buckets to new keys, and so changes the hash index, several times."""

    def act(time: int) -> object:
        return table_of(catalog).append(rows(100 + time, value="other")) if time <= times else None

    return act


def test_an_asset_succeeds_if_another_writer_changes_the_hash_index(catalog: Catalog) -> None:
    output(catalog, ArrowWriter(rows(1, 2)), "dagster:first:step")
    frame = Overtaken(rows(2, 3, value="b"), others_add_keys(catalog, 3))
    written = output(catalog, frame)
    assert frame.times == 4
    assert [snapshot.commit_user for snapshot in written.snapshots] == ["dagster:run:step"]
    assert not written.repeated
    assert found(catalog) == [(1, "a"), (2, "b"), (3, "b"), (101, "other"), (102, "other"), (103, "other")]
    table = table_of(catalog)
    assert_sound(table, exact=True)
    table.remove_orphan_files(older_than_ms=1 << 60, nobody_else_writes=True)
    check_files(table)


def test_the_files_of_lost_attempts_are_deleted(catalog: Catalog) -> None:
    output(catalog, ArrowWriter(rows(1)), "dagster:first:step")
    output(catalog, Overtaken(rows(2), others_add_keys(catalog, 2)))
    report = table_of(catalog).remove_orphan_files(older_than_ms=1 << 60, dry_run=True, nobody_else_writes=True)
    assert not report.files


def test_a_stream_is_not_written_again_and_leaves_nothing(catalog: Catalog) -> None:
    output(catalog, ArrowWriter(rows(1)), "dagster:first:step")
    frame = Overtaken(rows(2).to_reader(), others_add_keys(catalog, 1))
    with pytest.raises(HashIndexChanged):
        output(catalog, frame)
    assert frame.times == 1
    assert found(catalog) == [(1, "a"), (101, "other")]
    assert not table_of(catalog).remove_orphan_files(older_than_ms=1 << 60, dry_run=True, nobody_else_writes=True).files


def test_an_attempt_after_an_unknown_outcome_checks_before_it_writes(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    output(catalog, ArrowWriter(rows(1)), "dagster:first:step")
    real = BatchCommit.commit

    def without_answer(self: BatchCommit, *args: object, **kwargs: object) -> None:
        real(self, *args, **kwargs)  # type: ignore[arg-type]
        message = "the store did not answer"
        raise CommitOutcomeUnknown(self.commit_user, 1, 2, message)

    frame = Overtaken(rows(2), lambda _: None)
    with monkeypatch.context() as patch:
        patch.setattr(BatchCommit, "commit", without_answer)
        with pytest.raises(CommitOutcomeUnknown):
            output(catalog, frame)
    assert frame.times == 1  # it is not repeated without a check
    repeated = Overtaken(rows(2), lambda _: None)
    written = output(catalog, repeated)
    assert written.repeated
    assert repeated.times == 0
    assert found(catalog) == [(1, "a"), (2, "a")]
    assert len(table_of(catalog).snapshots()) == 2


HOURS = dg.HourlyPartitionsDefinition("2026-03-01-00:00")


@pytest.mark.parametrize("before", [9, 10])
@pytest.mark.parametrize("partition_by", [["at"], []])
def test_of_two_runs_of_one_hour_at_the_same_time_the_rows_of_the_last_one_stay(
    partition_by: list[str], before: int
) -> None:
    metadata = {"partition_expr": "at", "paimon/partition_by": partition_by}
    spec = WriteSpec.of("db.t", metadata, default_mode=WriteMode.overwrite_partition)
    store = HookedFileIO(MemoryFileIO())
    catalog = load_catalog({"warehouse": "/w"}, file_io=store)

    def run(user: str, *minutes: int, hour: int = 10) -> None:
        times = [datetime(2026, 3, 1, hour, minute) for minute in minutes]
        write_output(
            catalog,
            spec,
            ArrowWriter(pa.table({"at": pa.array(times, pa.timestamp("us")), "v": [user] * len(times)})),
            Committer(user=user, properties={}),
            partitions=(f"2026-03-01-{hour:02}:00",),
            definition=HOURS,
            evolution=SchemaEvolution.error,
            create=True,
        )

    run("first", 1, 2, hour=before)
    store.before("create", "/snapshot-2", once(lambda: run("second", 3)))
    run("third", 2, 4)
    read = table_of(catalog).scan().to_arrow().sort_by("at").to_pylist()
    assert [row["v"] for row in read if row["at"].hour == 10] == ["third", "third"]
