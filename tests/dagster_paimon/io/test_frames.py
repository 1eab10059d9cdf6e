"""Frames of every package: inputs by annotation, outputs by value."""

import sys
from typing import Any, Optional

import dagster as dg
import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from dagster_paimon.io.arrow_writer import ArrowWriter
from dagster_paimon.io.frames import FrameType, SparkFrame, allows_none, frame_type_of
from dagster_paimon.io.io_manager import PaimonIOManager
from dagster_paimon.io.loading import _duckdb
from tests.support.dagster_project import Project
from tests.support.tables import keyed, memory_warehouse

pytestmark = pytest.mark.dagster

ROWS = pa.table({"id": pa.array([1, 2], pa.int64()), "name": ["a", "b"]})
FRAMES = {
    FrameType.pyarrow: (pa.Table, lambda: ROWS),
    FrameType.record_batch_reader: (pa.RecordBatchReader, ROWS.to_reader),
    FrameType.dataset: (ds.Dataset, lambda: ds.dataset(ROWS)),
    FrameType.pandas: (pd.DataFrame, ROWS.to_pandas),
    FrameType.polars: (pl.DataFrame, lambda: pl.from_arrow(ROWS)),
    FrameType.polars_lazy: (pl.LazyFrame, lambda: pl.from_arrow(ROWS).lazy()),
    FrameType.duckdb: (duckdb.DuckDBPyRelation, lambda: duckdb.from_arrow(ROWS)),
}


def as_arrow(frame: Any) -> pa.Table:
    if isinstance(frame, pa.RecordBatchReader):
        return frame.read_all()
    if isinstance(frame, ds.Dataset):
        return frame.to_table()
    if isinstance(frame, pd.DataFrame):
        return pa.Table.from_pandas(frame, preserve_index=False)
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, pl.DataFrame):
        return frame.to_arrow()
    return frame.to_arrow_table() if isinstance(frame, duckdb.DuckDBPyRelation) else frame


def a_source(make: Any, annotation: Any = Any) -> dg.AssetsDefinition:
    def items() -> Any:
        return make()

    items.__annotations__ = {"return": annotation}
    return dg.asset(key=["lab", "items"], io_manager_key="paimon_io")(items)


def a_reader(annotation: Any, seen: list[Any], **metadata: Any) -> dg.AssetsDefinition:
    def read(items: Any) -> None:
        seen.append((type(items), as_arrow(items)))

    read.__annotations__ = {"items": annotation, "return": None}
    return dg.asset(ins={"items": dg.AssetIn(key=["lab", "items"], metadata=metadata)})(read)


@pytest.mark.parametrize("kind", list(FRAMES))
def test_the_value_sets_the_written_frame_type_and_the_annotation_the_read_one(
    project: Project, kind: FrameType
) -> None:
    annotation, make = FRAMES[kind]
    seen: list[Any] = []
    source, reader = a_source(make, annotation), a_reader(annotation, seen)
    project.run([source, reader])
    ((found, rows),) = seen
    assert issubclass(found, annotation)
    assert rows.to_pydict() == ROWS.to_pydict()


@pytest.mark.parametrize("kind", list(FRAMES))
def test_an_input_without_annotation_has_the_default_type(project: Project, kind: FrameType) -> None:
    project.resources["paimon_io"] = PaimonIOManager(
        lakehouse=project.lakehouse, spark=project.resources["spark"], default_input_type=kind
    )
    seen: list[Any] = []
    project.run([a_source(lambda: ROWS), a_reader(Any, seen)])
    assert issubclass(seen[0][0], FRAMES[kind][0])


def test_a_duckdb_relation_shows_no_progress_bar_in_the_log_of_a_step() -> None:
    duckdb.execute("SET enable_progress_bar = true")
    _duckdb(ROWS)
    assert duckdb.sql("SELECT current_setting('enable_progress_bar')").fetchall() == [(False,)]


def test_duckdb_relations_of_two_inputs_can_be_joined(project: Project) -> None:
    seen: list[Any] = []

    @dg.asset(key=["lab", "more"], io_manager_key="paimon_io")
    def more() -> pl.DataFrame:
        return pl.DataFrame({"id": [2], "price": [7.5]})

    @dg.asset(ins={"items": dg.AssetIn(key=["lab", "items"]), "more": dg.AssetIn(key=["lab", "more"])})
    def joined(items: duckdb.DuckDBPyRelation, more: duckdb.DuckDBPyRelation) -> None:
        seen.extend(items.join(more, "id").fetchall())

    project.run([a_source(lambda: ROWS), more, joined])
    assert seen == [(2, "b", 7.5)]


def test_columns_are_selected_for_every_frame_type(project: Project) -> None:
    seen: list[Any] = []
    project.run([a_source(lambda: ROWS), a_reader(pl.DataFrame, seen, columns=["name"])])
    assert seen[0][1].to_pydict() == {"name": ["a", "b"]}


def test_the_error_names_a_missing_package_and_its_extra(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    source = a_source(lambda: ROWS)
    project.run(source)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(
        dg.Failure, match=r"polars is not installed: pip install 'paimon-lakehouse\[polars\]'"
    ) as raised:
        project.run([source, reader := a_reader(pl.DataFrame, [])], selection=[reader])
    assert raised.value.allow_retries is False


def test_a_value_of_two_types_in_one_pandas_column_is_refused_without_retry(project: Project) -> None:
    with pytest.raises(dg.Failure, match="holds values without a common Arrow type") as raised:
        project.run(a_source(lambda: pd.DataFrame({"a": [1, "x"]})))
    assert raised.value.allow_retries is False


def test_optional_annotations_allow_none() -> None:
    assert frame_type_of(pa.Table | None) is FrameType.pyarrow
    assert allows_none(Optional[pl.DataFrame])  # noqa: UP045
    assert not allows_none(pl.DataFrame)
    assert frame_type_of(SparkFrame) is FrameType.pyspark
    assert frame_type_of(pa.Table | pl.DataFrame) is None
    assert frame_type_of(type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe"})) is FrameType.pyspark


def test_outputs_of_ops_are_stored_as_tables(project: Project) -> None:
    seen: list[int] = []

    @dg.op(out=dg.Out(io_manager_key="paimon_io", metadata={"schema": "lab", "table": "steps"}))
    def make() -> pa.Table:
        return ROWS

    @dg.op
    def use(rows: pa.Table) -> None:
        seen.append(rows.num_rows)

    @dg.job(resource_defs=project.resources)
    def work() -> None:
        use(make())

    assert work.execute_in_process(instance=project.instance).success
    assert seen == [2]
    assert len(project.rows("lab.steps")) == 2


def test_the_frame_of_a_second_commit_compacts_the_bucket_of_the_first() -> None:
    options = {"bucket": "1", "full-compaction.delta-commits": "2"}
    table = memory_warehouse().table(primary_keys=["id", "dt"], partition_keys=["dt"], options=options)
    table.append(keyed([(1, "a", 1)]))
    messages = ArrowWriter(keyed([(1, "b", 1)])).write(table.current_facts, replacing=False)
    table.new_commit().commit(messages)
    assert [snapshot.commit_kind.value for snapshot in table.snapshots()] == ["APPEND", "APPEND", "COMPACT"]
    assert [file.level for split in table.scan().plan() for file in split.files] == [5, 5]
