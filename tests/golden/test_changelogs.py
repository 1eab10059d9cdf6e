"""Changes of golden tables read as the real Paimon reads them: as a stream, between snapshots, and as audit log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from table_format import Table, load_catalog
from table_format.errors import SchemaChanged, UnsupportedFeature
from table_format.model.column_fit import narrowed_columns
from table_format.table.read.scan import state_plan
from table_format.table.read.split_reader import read_split
from table_format.table.read.stream import StreamScan
from table_format.table.read.time_travel import Starting
from table_format.table.system.table import SystemTable
from tests.golden.test_reads import feature_waited_for
from tests.support.golden import GoldenCase, case_names, golden_case
from tests.support.json_rows import json_rows, rows_with_floats, sorted_rows, unsorted_rows


def tables_with(answer: str) -> list[tuple[str, str]]:
    """Cases and tables for which Paimon's answer of that kind is recorded, and of which all versions think the same."""
    return [
        (case, table)
        for case in case_names()
        for table, facts in golden_case(case).tables.items()
        if (answer in facts or answer in facts.get("system_tables", {}))
        and facts.get("cross_read", {}).get("1.4.2", "same") == "same"
    ]


def opened(golden: GoldenCase, name: str) -> Table | SystemTable:
    return load_catalog({"warehouse": str(golden.warehouse)}).load_table(name)


def compared(case: str, table: str, differences: Any) -> None:
    """No difference, or the table is refused for the feature that its state waits for too."""
    refused_for = None
    found: list[str] = []
    try:
        found = list(differences(golden_case(case), table))
    except UnsupportedFeature as refusal:
        refused_for = refusal.feature
    assert found == []
    assert refused_for in (None, feature_waited_for(case, table))


@pytest.mark.parametrize(("case", "table"), tables_with("stream_from_first_snapshot"), ids=lambda value: value)
def test_a_stream_from_the_first_snapshot_gives_the_same_plans(case: str, table: str) -> None:
    compared(case, table, stream_differences)


def stream_differences(golden: GoldenCase, name: str) -> Iterator[str]:
    facts = golden.tables[name]
    expected = facts["stream_from_first_snapshot"]
    if "error" in expected:
        return
    first = facts["snapshot_ids"][0]
    table = opened(golden, name)
    assert isinstance(table, Table)
    # Paimon's answers show rows in the schema of the snapshot it starts at.
    start = table.facts.snapshots.load(first)
    table = Table(table.identifier, table.store, table.facts.schemas[start.schema_id])
    stream = table.stream(options={"scan.mode": "from-snapshot", "scan.snapshot-id": str(first)})
    fields = table.schema.fields
    assert [f.name for f in fields] == expected["columns"]
    wanted = {p["snapshot"]: flat(p["rows"], fields) for p in expected["plans"]}
    found: dict[int, list[list[Any]]] = {}
    try:
        found.update(plans_of(stream, fields))
    except SchemaChanged:
        # Paimon's stream continues and truncates values to the narrower type; this library's stream stops before that.
        schemas = (table.facts.schemas[i] for i in table.facts.schemas)
        assert any(narrowed_columns(schema.fields, fields) for schema in schemas)
        assert found
        wanted = {snapshot_id: rows for snapshot_id, rows in wanted.items() if snapshot_id <= max(found)}
    for snapshot_id in sorted(found.keys() | wanted.keys()):
        if found.get(snapshot_id) != wanted.get(snapshot_id):
            yield f"snapshot {snapshot_id}: {found.get(snapshot_id)}, expected {wanted.get(snapshot_id)}"


def plans_of(stream: StreamScan, fields: Any) -> Iterator[tuple[int, list[list[Any]]]]:
    while (plan := stream.next_plan()) is not None:
        assert plan.snapshot is not None
        rows = stream.to_arrow(plan)
        yield plan.snapshot.id, with_kinds(rows, fields)


def with_kinds(rows: Any, fields: Any) -> list[list[Any]]:
    """Rows of Arrow with their kinds in front."""
    kinds = rows.column("rowkind").to_pylist()
    plain = unsorted_rows(rows, fields)
    return sorted_rows([[kind, *row] for kind, row in zip(kinds, plain, strict=True)])


def flat(rows: list[Any], fields: Any) -> list[list[Any]]:
    """Recorded rows with their kinds in front."""
    return sorted_rows([[kind, *rows_with_floats([row], fields)[0]] for kind, row in rows])


def merged_by_key(case: str, table: str) -> bool:
    """Whether the answer is of Paimon 0.9, which merged the changes of a range by key and so lost all but the last."""
    golden = golden_case(case)
    return "0.9.0" in golden.expected["read_by"] and bool(golden.tables[table]["schema"]["primaryKeys"])


@pytest.mark.parametrize(
    ("case", "table"),
    [found for found in tables_with("incremental_between") if not merged_by_key(*found)],
    ids=lambda value: value,
)
def test_changes_between_snapshots_are_the_same(case: str, table: str) -> None:
    compared(case, table, incremental_differences)


def incremental_differences(golden: GoldenCase, name: str) -> Iterator[str]:
    table = opened(golden, name)
    log = opened(golden, f"{name}$audit_log")
    assert isinstance(table, Table)
    assert isinstance(log, SystemTable)
    fields = table.schema.fields
    for span, expected in golden.tables[name]["incremental_between"].items():
        options = {"incremental-between": span}
        if "error" in expected:
            continue
        wanted = flat(expected["rows"], fields)
        found = with_kinds(log.scan(options=options).to_arrow(), fields)
        if found != wanted:
            yield f"{span}: {found}, expected {wanted}"
        adds = [row[1:] for row in wanted if row[0] in ("+I", "+U")]
        plain = json_rows(table.scan(options=options).to_arrow(), fields)
        if plain != sorted_rows(adds):
            yield f"{span} without kinds: {plain}, expected {adds}"


@pytest.mark.parametrize("log", ["audit_log", "binlog"])
@pytest.mark.parametrize(("case", "table"), tables_with("audit_log"), ids=lambda value: value)
def test_logs_are_the_same(case: str, table: str, log: str) -> None:
    def differences(golden: GoldenCase, name: str) -> Iterator[str]:
        expected = golden.tables[name]["system_tables"].get(log)
        if expected is None or "error" in expected:
            return
        opened_log = opened(golden, f"{name}${log}")
        assert isinstance(opened_log, SystemTable)
        rows = opened_log.scan().to_arrow()
        fields = opened_log.fields
        if [f.name for f in fields] != expected["columns"]:
            yield f"columns {[f.name for f in fields]}, expected {expected['columns']}"
        if [str(f.type) for f in fields] != expected["types"]:
            yield f"types {[str(f.type) for f in fields]}, expected {expected['types']}"
        found = json_rows(rows, fields)
        if found != rows_with_floats(expected["rows"], fields):
            yield f"{found}, expected {expected['rows']}"

    compared(case, table, differences)


@pytest.mark.parametrize(
    ("case", "table"),
    [
        ("pk_deletion_vectors__1.4.2", "db.t"),
        ("pk_deletion_vectors__1.4.2", "db.levels"),
        ("pk_deletion_vectors_bitmap64", "db.t"),
        ("pk_sequence_field__1.4.2", "db.two"),
        ("pk_changelog__1.4.2", "db.cp_lookup"),
        ("pk_partial_update__1.4.2", "db.basic"),
        ("pk_aggregation__1.4.2", "db.f_sum"),
        ("pk_first_row__1.4.2", "db.plain"),
        ("schema_evolution__1.4.2", "db.pk_parquet"),
    ],
)
def test_a_state_and_the_difference_to_a_later_one_are_the_later_one(case: str, table: str) -> None:
    golden = golden_case(case)
    data, log = opened(golden, table), opened(golden, f"{table}$audit_log")
    assert isinstance(data, Table)
    assert isinstance(log, SystemTable)
    ids = golden.tables[table]["snapshot_ids"]
    fields = data.schema.fields
    keys = [data.schema.field_names.index(name) for name in data.schema.primary_keys]
    states = {i: keyed_rows(state_of(data, i), keys) for i in ids}
    for start in ids:
        for end in ids[ids.index(start) + 1 :]:
            options = {"incremental-between": f"{start},{end}", "incremental-between-scan-mode": "diff"}
            found = dict(states[start])
            for kind, *row in with_kinds(log.scan(options=options).to_arrow(), fields):
                found.update(keyed_rows([row], keys))
                if kind.startswith("-"):
                    found.pop(next(iter(keyed_rows([row], keys))))
            assert found == states[end], (start, end)


def state_of(table: Table, snapshot_id: int) -> list[list[Any]]:
    """The rows of a snapshot in the table's own schema, which is the one changes are shown in."""
    snapshot = table.facts.snapshots.load(snapshot_id)
    plan = state_plan(table.facts, Starting(snapshot, table.schema), None, None)
    facts = table.facts
    read = [read_split(facts.store, plan.schemas, plan.schema, facts.options, split, plan.fields) for split in plan]
    rows = [batch for batches in read for batch in batches]
    return json_rows(pa.Table.from_batches(rows, schema=table.arrow_schema), table.schema.fields)


def keyed_rows(rows: list[list[Any]], keys: list[int]) -> dict[str, list[Any]]:
    return {repr([row[i] for i in keys]): row for row in rows}
