"""A frame or a statement is planned, and its snapshot or its table is gone before Spark runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest

from table_format.errors import SnapshotExpired, TableFormatError, TableNotFound, TableReplaced
from table_format.spark.dml import target
from table_format.spark.read.frames import frame_of
from tests.spark.lakes import KEYED, TestLake

pytestmark = pytest.mark.spark

KINDS: Mapping[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "append": ((), {}),
    "append with deletion vectors": ((), {"deletion-vectors.enabled": "true"}),
    "keyed": (("id",), {"bucket": "1", "write-only": "true"}),
    "avro": ((), {"file.format": "avro"}),
}


def rows(ids: Sequence[int], values: Sequence[str]) -> pa.Table:
    return pa.table({"id": ids, "v": values}, schema=KEYED)


def made(lake: TestLake, kind: str) -> None:
    keys, options = KINDS[kind]
    table = lake.create(primary_keys=keys, **options)
    table.append(rows([1, 2], ["a", "b"]))
    table.append(rows([2, 3], ["c", "d"]))
    table.delete("id = 3")


def replaced_and_expired(lake: TestLake, _: str) -> None:
    table = lake.table()
    table.overwrite(rows([9], ["z"]))
    now = table.store.runtime.clock.now_ms()
    table.expire_snapshots(retain_min=1, retain_max=1, older_than_ms=now + 60_000, retain_floor_ms=0)


def rolled_back_and_written_again(lake: TestLake, _: str) -> None:
    lake.table().rollback_to(1)
    lake.table().overwrite(rows([8], ["y"]))
    lake.table().append(rows([9], ["z"]))  # the snapshot with the id of the planned one


def dropped(lake: TestLake, _: str) -> None:
    lake.lake.catalog.drop_table("s.t")


def created_again(lake: TestLake, kind: str) -> None:
    dropped(lake, kind)
    made(lake, kind)


Event = Callable[[TestLake, str], None]

LOSSES: Sequence[tuple[Event, type[TableFormatError], str]] = (
    (replaced_and_expired, SnapshotExpired, "was expired while it was being read"),
    (rolled_back_and_written_again, SnapshotExpired, "was replaced by a rollback or a fast-forward while it was being"),
    (dropped, TableNotFound, "was dropped or renamed after .* while it was being read"),
    (created_again, TableReplaced, "created again.* while it was being read"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_whose_snapshot_was_expired_says_so(lake: TestLake, kind: str) -> None:
    made(lake, kind)
    frame = lake.lake.table("s.t")
    through_data_source = lake.spark.read.format("paimon").load(str(lake.warehouse / "s.db" / "t"))
    through_data_source.schema  # noqa: B018 - it is opened now
    plan = lake.table().scan().plan()
    replaced_and_expired(lake, kind)
    with pytest.raises(SnapshotExpired, match="was expired while it was being read"):
        frame.collect()
    with pytest.raises(SnapshotExpired, match="was expired while it was being read"):
        frame_of(lake.spark, lake.table().facts, plan).collect()
    assert [tuple(row) for row in through_data_source.collect()] == [(9, "z")]
    assert [tuple(row) for row in lake.lake.table("s.t").collect()] == [(9, "z")]


@pytest.mark.parametrize(("event", "error", "text"), LOSSES[1:])
@pytest.mark.parametrize("kind", ["append", "keyed"])
def test_a_frame_whose_snapshot_or_table_is_gone_says_so(
    lake: TestLake, kind: str, event: Event, error: type[TableFormatError], text: str
) -> None:
    made(lake, kind)
    facts, plan = lake.table().facts, lake.table().scan().plan()
    frame = frame_of(lake.spark, facts, plan)
    event(lake, kind)
    with pytest.raises(error, match=text):
        frame.collect()  # files are missing when a task reads them
    with pytest.raises(error, match=text):
        frame_of(lake.spark, facts, plan).collect()  # or already when the frame is made


@pytest.mark.parametrize(("event", "error", "text"), LOSSES[2:])
@pytest.mark.parametrize("kind", ["append", "keyed"])
def test_a_statement_whose_table_is_gone_says_so(
    lake: TestLake, monkeypatch: pytest.MonkeyPatch, kind: str, event: Event, error: type[TableFormatError], text: str
) -> None:
    made(lake, kind)
    after_planning(monkeypatch, kind, lambda: event(lake, kind))
    with pytest.raises(error, match=text):
        lake.lake.delete("s.t", "v = 'a'")


@pytest.mark.parametrize("event", [replaced_and_expired, rolled_back_and_written_again])
@pytest.mark.parametrize("kind", ["append", "keyed"])
def test_a_statement_whose_snapshot_is_gone_is_repeated(
    lake: TestLake, monkeypatch: pytest.MonkeyPatch, kind: str, event: Event
) -> None:
    made(lake, kind)
    after_planning(monkeypatch, kind, lambda: event(lake, kind))
    assert lake.lake.delete("s.t", "upper(v) = 'Z'").deleted == 1


def after_planning(monkeypatch: pytest.MonkeyPatch, kind: str, event: Callable[[], None]) -> None:
    """Let something happen once, after a statement has planned its rows and before Spark reads them."""
    name = "numbered_frame" if not KINDS[kind][0] else "pruned_frame"
    plan_rows = getattr(target, name)

    def planned(*arguments: Any, **named: Any) -> Any:
        frame = plan_rows(*arguments, **named)
        monkeypatch.setattr(target, name, plan_rows)
        event()
        return frame

    monkeypatch.setattr(target, name, planned)
