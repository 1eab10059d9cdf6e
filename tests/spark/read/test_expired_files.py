"""Spark's errors about missing files are matched with the snapshots of planned DataFrames; without a session."""

from __future__ import annotations

import pytest
from pyspark.errors.exceptions import captured

from table_format.errors import SnapshotExpired
from table_format.spark.read import expired_files
from table_format.spark.read.expired_files import PlannedSnapshots, install_expiry_errors
from tests.support.tables import keyed, memory_warehouse

MISSING = "[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file file://{}. File does not exist."


def planned_and_replaced() -> tuple[PlannedSnapshots, str]:
    warehouse = memory_warehouse()
    table = warehouse.table(primary_keys=["id"])
    table.append(keyed([(1, "a", 1)]))
    plan = table.scan().plan()
    known = PlannedSnapshots()
    known.note(table.store, plan)
    split = plan.splits[0]
    path = table.store.paths.data_file("", split.bucket, split.files[0])
    table.overwrite(keyed([(1, "a", 2)]))
    return known, path


def expire(known: PlannedSnapshots) -> None:
    (store,) = set(known._known.values())
    store.io.delete(store.paths.snapshot(1))


def test_a_missing_file_of_an_expired_snapshot_is_reported_as_expired() -> None:
    known, path = planned_and_replaced()
    assert known.explained(MISSING.format(path)) is None  # its snapshot is retained, so this is damage
    expire(known)
    assert isinstance(known.explained(MISSING.format(path)), SnapshotExpired)
    assert isinstance(known.explained(f"[PATH_NOT_FOUND] Path does not exist: file:{path}."), SnapshotExpired)
    assert known.explained(MISSING.format("/elsewhere/f.parquet")) is None
    assert known.explained(f"division by zero near {path}") is None


def test_an_expiry_error_of_a_task_is_raised_with_its_own_class() -> None:
    text = 'Traceback\n  File "x"\ntable_format.errors.SnapshotExpired: snapshot 3 was expired\n\n'
    found = PlannedSnapshots().explained(text)
    assert str(found) == "snapshot 3 was expired"


def test_the_number_of_remembered_plans_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expired_files, "_PLANS", 0)
    known, path = planned_and_replaced()
    assert not known._known
    assert known.explained(MISSING.format(path)) is None


def test_installing_expiry_errors_twice_has_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def convert(error: str) -> str:
        calls.append(error)
        return error

    monkeypatch.setattr(captured, "convert_exception", convert)
    install_expiry_errors()
    install_expiry_errors()
    text = "table_format.errors.SnapshotExpired: gone"
    assert isinstance(captured.convert_exception(text), SnapshotExpired)
    assert captured.convert_exception("other") == "other"
    assert calls == [text, "other"]
