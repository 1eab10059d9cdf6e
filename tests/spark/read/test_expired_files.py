"""Spark's errors about missing files are matched with the snapshots of planned DataFrames; without a session."""

from __future__ import annotations

import pytest
from pyspark.errors.exceptions import captured

from table_format import Table
from table_format.errors import SnapshotExpired, TableNotFound, TableReplaced
from table_format.spark.read import expired_files
from table_format.spark.read.expired_files import PlannedSnapshots, install_expiry_errors
from tests.support.tables import keyed, memory_warehouse

MISSING = "[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file file://{}. File does not exist."


def planned_and_replaced() -> tuple[PlannedSnapshots, str, Table]:
    warehouse = memory_warehouse()
    table = warehouse.table(primary_keys=["id"])
    table.append(keyed([(1, "a", 1)]))
    table.append(keyed([(2, "a", 1)]))
    plan = table.scan().plan()
    known = PlannedSnapshots()
    known.note(table.store, plan)
    split = plan.splits[0]
    path = table.store.paths.data_file("", split.bucket, split.files[0])
    table.overwrite(keyed([(1, "a", 2)]))
    return known, path, table


def test_a_missing_file_of_an_expired_snapshot_is_reported_as_expired() -> None:
    known, path, table = planned_and_replaced()
    assert known.explained(MISSING.format(path)) is None  # its snapshot is retained, so this is damage
    for number in (1, 2):
        table.store.io.delete(table.store.paths.snapshot(number))
    assert isinstance(known.explained(MISSING.format(path)), SnapshotExpired)
    assert isinstance(known.explained(f"[PATH_NOT_FOUND] Path does not exist: file:{path}."), SnapshotExpired)
    assert known.explained(MISSING.format("/elsewhere/f.parquet")) is None
    assert known.explained(f"division by zero near {path}") is None


def test_a_missing_file_of_a_table_that_is_gone_names_what_happened_to_the_table() -> None:
    known, path, table = planned_and_replaced()
    io, schema = table.store.io, table.store.paths.schema(0)
    text = io.read(schema)
    io.delete(schema)
    assert isinstance(known.explained(MISSING.format(path)), TableNotFound)
    io.create(schema, text + b" ")  # the schema of another table
    assert isinstance(known.explained(MISSING.format(path)), TableReplaced)


def test_a_missing_file_of_a_snapshot_whose_id_was_used_again_is_reported() -> None:
    known, path, table = planned_and_replaced()
    table.rollback_to(1)
    table.append(keyed([(1, "a", 3)]))
    found = known.explained(MISSING.format(path))
    assert isinstance(found, SnapshotExpired)
    assert "snapshot 2 was replaced" in str(found)


def test_an_expiry_error_of_a_task_is_raised_with_its_own_class() -> None:
    for error in (SnapshotExpired, TableNotFound, TableReplaced):
        text = f'Traceback\n  File "x"\ntable_format.errors.{error.__name__}: gone while it was being read (x)\n\n'
        found = PlannedSnapshots().explained(text)
        assert (type(found), str(found)) == (error, "gone while it was being read (x)")


def test_an_error_about_a_table_that_nobody_was_reading_keeps_the_class_of_spark() -> None:
    assert PlannedSnapshots().explained("table_format.errors.TableNotFound: table 's.t' does not exist") is None


def test_the_number_of_remembered_plans_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expired_files, "_PLANS", 0)
    known, path, _ = planned_and_replaced()
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
    text = "table_format.errors.SnapshotExpired: gone while it was being read (x)"
    assert isinstance(captured.convert_exception(text), SnapshotExpired)
    assert captured.convert_exception("other") == "other"
    assert calls == [text, "other"]
