"""A run that Dagster terminates during an output: committed files stay, and the retry reports them."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest
from dagster._core.errors import DagsterExecutionInterruptedError

from dagster_paimon.io.arrow_writer import ArrowWriter
from dagster_paimon.io.commits import Committer
from dagster_paimon.io.evolution import SchemaEvolution
from dagster_paimon.io.writing import WriteMode, WriteSpec, Written, write_output
from dagster_paimon.resources.retries import RetryUnlessTerminated
from table_format import Table, load_catalog
from table_format.io.memory import MemoryFileIO
from tests.support.dagster_project import Project
from tests.support.metastore_table import HookedFileIO, failing, once
from tests.support.reachable import check_files

ROWS = pa.table({"id": pa.array([1, 2], pa.int64()), "v": ["a", "b"]})
SPEC = WriteSpec.of(
    "db.t", {"paimon/primary_key": "id", "paimon/options": {"bucket": "1"}}, default_mode=WriteMode.upsert
)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    ("verb", "part"), [("create", "/snapshot-"), ("overwrite", "/LATEST"), ("create", "/manifest-list-")]
)
def test_a_terminated_run_does_not_delete_committed_files(verb: str, part: str, when: str) -> None:
    memory = MemoryFileIO()
    store = HookedFileIO(memory)
    catalog = load_catalog({"warehouse": "/w"}, file_io=store)

    def output() -> Written:
        return write_output(
            catalog,
            SPEC,
            ArrowWriter(ROWS),
            Committer(user="dagster:run:step", properties={}),
            partitions=(),
            evolution=SchemaEvolution.error,
            create=True,
        )

    getattr(store, when)(verb, part, once(failing(DagsterExecutionInterruptedError())))
    with pytest.raises(DagsterExecutionInterruptedError):
        output()
    store.calm()
    committed = memory.status("/w/db.db/t/snapshot/snapshot-1") is not None
    assert committed == ((verb, part, when) in {("create", "/snapshot-", "after")} or verb == "overwrite")
    written = output()
    assert written.repeated == committed
    table = load_catalog({"warehouse": "/w"}, file_io=memory).load_table("db.t")
    assert isinstance(table, Table)
    assert table.scan().to_arrow().sort_by("id").to_pydict() == ROWS.to_pydict()
    table.remove_orphan_files(older_than_ms=1 << 60, nobody_else_writes=True)
    check_files(table)


@pytest.mark.dagster
@pytest.mark.parametrize("mode", ["append", "overwrite_partition"])
def test_an_interrupted_step_is_not_retried_and_leaves_no_file(project: Project, mode: str) -> None:
    attempts: list[int] = []

    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"n": list(range(1000)), "at": [datetime(2026, 3, 1)] * 1000})
        raise DagsterExecutionInterruptedError

    @dg.asset(
        key=["lab", "readings"],
        io_manager_key="paimon_io",
        partitions_def=dg.DailyPartitionsDefinition("2026-03-01"),
        metadata={"partition_expr": "at", "paimon/write_mode": mode, "paimon/options": {"target-file-size": "1 kb"}},
        retry_policy=RetryUnlessTerminated(max_retries=2),
    )
    def readings(context: dg.AssetExecutionContext) -> pa.RecordBatchReader:
        attempts.append(1)
        schema = pa.schema([("n", pa.int64()), ("at", pa.timestamp("us"))])
        if attempts == [1]:
            return pa.table({"n": [1], "at": [datetime(2026, 3, 1)]}, schema=schema).to_reader()
        return pa.RecordBatchReader.from_batches(schema, batches())

    project.run(readings, days="2026-03-01")
    root = Path(project.table("lab.readings").store.paths.root)
    before = set(root.rglob("*"))
    with pytest.raises(DagsterExecutionInterruptedError):
        project.run(readings, days="2026-03-01")
    assert len(attempts) == 2
    assert set(root.rglob("*")) == before
    assert len(project.rows("lab.readings")) == 1
