"""Frames whose commit loses a race are written again, where Spark can compute them a second time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest

from dagster_paimon.io.commits import Committer
from dagster_paimon.io.evolution import SchemaEvolution
from dagster_paimon.io.spark_writer import SparkWriter
from dagster_paimon.io.writing import WriteMode, WriteSpec, write_output
from table_format.errors import RowsChanged
from table_format.spark import lake as lake_module
from table_format.spark.source.writer import PaimonWriter
from tests.spark.lakes import TestLake
from tests.support.dynamic_buckets import assert_sound

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

DYNAMIC = {"bucket": "-1"}
DDL = "id long, v string"


def others_add_keys(lake: TestLake, times: int = 2) -> Callable[[], None]:
    """Another writer that gives new keys their buckets, and so moves the hash index, some times in a row."""
    keys = iter(range(100, 100 + times))

    def act() -> None:
        key = next(keys, None)
        if key is not None:
            lake.table().append(pa.table({"id": pa.array([key], pa.int64()), "v": ["other"]}))

    return act


def after(real: Callable[..., Any], act: Callable[[], None]) -> Callable[..., Any]:
    def done(*args: Any, **kwargs: Any) -> Any:
        result = real(*args, **kwargs)
        act()
        return result

    return done


EXPECTED = [(1, "a"), (100, "other"), (101, "other"), (2, "b"), (3, "b")]


@pytest.mark.parametrize("parallelism", [None, 2])
def test_a_frame_is_written_again_if_another_writer_changes_the_hash_index(
    lake: TestLake, monkeypatch: pytest.MonkeyPatch, parallelism: int | None
) -> None:
    table = lake.create(**DYNAMIC)
    lake.write([(1, "a"), (2, "a")])
    monkeypatch.setattr(lake_module, "write_frame", after(lake_module.write_frame, others_add_keys(lake)))
    lake.write([(2, "b"), (3, "b")], parallelism=parallelism)
    assert lake.rows() == EXPECTED
    assert_sound(table, exact=True)


class OneSession:
    """What an engine needs of the Spark resource: a session, whose progress nobody follows."""

    def __init__(self, session: Any) -> None:
        self._session = session

    @contextmanager
    def following(self, *_: object) -> Iterator[Any]:
        yield self._session


def test_an_asset_on_spark_succeeds_if_another_writer_changes_the_hash_index(
    lake: TestLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = lake.create(**DYNAMIC)
    lake.write([(1, "a"), (2, "a")])
    monkeypatch.setattr(SparkWriter, "write", after(SparkWriter.write, others_add_keys(lake)))
    frame = lake.frame([(2, "b"), (3, "b")], DDL)
    spec = WriteSpec.of("s.t", {"paimon/primary_key": "id", "paimon/options": DYNAMIC}, WriteMode.upsert)
    written = write_output(
        lake.lake.catalog,
        spec,
        SparkWriter(frame, OneSession(lake.spark), lambda *_: None),  # type: ignore[arg-type]
        Committer(user="dagster:run:step", properties={}),
        partitions=(),
        evolution=SchemaEvolution.error,
        create=False,
    )
    assert [snapshot.commit_user for snapshot in written.snapshots] == ["dagster:run:step"]
    assert lake.rows() == EXPECTED
    assert_sound(table, exact=True)


def test_a_data_source_write_that_loses_a_race_leaves_nothing(lake: TestLake) -> None:
    table = lake.create()
    lake.write([(1, "a")])
    writer = PaimonWriter(table, overwrite=False)
    written: Any = writer.write(iter(pa.table({"id": pa.array([1], pa.int64()), "v": ["b"]}).to_batches()))
    table.update({"v": "'c'"}, "id = 1")
    files = set(lake.files())
    # Spark does not run the tasks of a data source again.
    with pytest.raises(RowsChanged, match="write the rows again"):
        writer.commit([written])
    assert len(files - set(lake.files())) == 1
    assert lake.rows() == [(1, "c")]
    writer.abort([written])
    assert lake.rows() == [(1, "c")]
