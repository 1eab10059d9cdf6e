"""The IO manager while other writers alter or replace the table that a step writes. No JVM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from dagster_paimon.io.arrow_writer import ArrowWriter
from table_format.errors import SchemaChanged, TableReplaced
from table_format.model.schema_change import AddColumn, AlterColumnType, SetOption
from table_format.model.types import BigIntType
from tests.support.dagster_project import Project
from tests.support.dynamic_buckets import assert_sound

pytestmark = pytest.mark.dagster

BIG = (1 << 40) + 7


def items(mode: str, *amounts: int, bucket: str = "1") -> dg.AssetsDefinition:
    metadata: dict[str, Any] = {"paimon/write_mode": mode}
    if mode == "upsert":
        metadata |= {"paimon/primary_key": "id", "paimon/options": {"bucket": bucket}}

    @dg.asset(key=["shop", "items"], io_manager_key="paimon_io", metadata=metadata)
    def made() -> pa.Table:
        ids = pa.array([100 + number for number in range(len(amounts))], pa.int64())
        return pa.table({"id": ids, "amount": pa.array(amounts, pa.int32())})

    return made


def between_the_phases(monkeypatch: pytest.MonkeyPatch, others: Callable[[], None]) -> None:
    """Let others act once the rows of a step are written and before they are committed."""
    real = ArrowWriter.write

    def write(self: ArrowWriter, facts: Any, **how: Any) -> Any:
        messages = real(self, facts, **how)
        monkeypatch.setattr(ArrowWriter, "write", real)
        others()
        return messages

    monkeypatch.setattr(ArrowWriter, "write", write)


def alter(project: Project) -> None:
    catalog = project.lakehouse.catalog()
    catalog.alter_table("shop.items", (AlterColumnType("amount", BigIntType()), AddColumn("c", BigIntType())))
    project.table("shop.items").append(pa.table({"id": [1], "amount": [BIG], "c": [5]}))


@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_rows_of_a_step_are_written_to_a_table_that_was_widened_in_the_meantime(
    project: Project, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    project.run(items(mode, 7))
    between_the_phases(monkeypatch, lambda: alter(project))
    assert project.run(items(mode, 8, 9)).success
    found = {(row["id"], row["amount"], row["c"]) for row in project.rows("shop.items")}
    assert {(1, BIG, 5), (100, 8, None), (101, 9, None)} <= found
    project.table("shop.items").compact(full=True)
    assert {(row["id"], row["amount"], row["c"]) for row in project.rows("shop.items")} == found


def test_a_step_fails_and_leaves_nothing_if_its_rows_would_be_merged_differently(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.run(items("upsert", 7))
    catalog = project.lakehouse.catalog()
    between_the_phases(monkeypatch, lambda: catalog.alter_table("shop.items", SetOption("changelog-producer", "input")))
    table = project.table("shop.items")
    before = table.snapshots()
    result = project.run(items("upsert", 8), raise_on_error=False)
    assert not result.success
    assert SchemaChanged.__name__ in str(failure_of(result))
    assert table.snapshots() == before
    assert project.run(items("upsert", 8)).success
    assert [row["amount"] for row in project.rows("shop.items")] == [8]


def test_a_step_whose_table_was_created_again_commits_nothing_into_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.run(items("append", 7))

    def replace() -> None:
        project.lakehouse.catalog().drop_table("shop.items")
        project.run(items("append", 1, 2))

    between_the_phases(monkeypatch, replace)
    result = project.run(items("append", 8), raise_on_error=False)
    assert not result.success
    assert TableReplaced.__name__ in str(failure_of(result))
    assert [row["amount"] for row in project.rows("shop.items")] == [1, 2]


def test_a_step_succeeds_if_another_writer_changes_the_hash_index(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.run(items("upsert", 7, bucket="-1"))
    others = pa.table({"id": [1], "amount": pa.array([5], pa.int32())})
    between_the_phases(monkeypatch, lambda: project.table("shop.items").append(others))
    assert project.run(items("upsert", 8, 9, bucket="-1")).success
    assert [(row["id"], row["amount"]) for row in project.rows("shop.items")] == [(1, 5), (100, 8), (101, 9)]
    assert_sound(project.table("shop.items"), exact=True)


def failure_of(result: Any) -> object:
    (event,) = [event for event in result.all_events if event.is_step_failure]
    return event.step_failure_data.error.to_string()
