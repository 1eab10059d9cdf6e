"""Changes as the real Paimon reads them from tables we write, and as we read them from tables it writes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_format import Schema, Table, load_catalog
from table_format.model.types import DataField
from table_format.table.system.table import SystemTable
from tests.oracle.peer import PaimonPeer
from tests.support.json_rows import json_rows, sorted_rows
from tests.support.matrix import tries

ROWS = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.string()), ("n", pa.float64())])
COLUMNS = [["k", "INT NOT NULL"], ["v", "STRING"], ["n", "DOUBLE"]]


@pytest.fixture
def merging_paimon(paimon: PaimonPeer) -> PaimonPeer:
    """Paimon from 1.0 on; 0.9 merges the changes of a range by key, and has no binlog."""
    if paimon.version.startswith("0."):
        pytest.skip("0.9 reads changes in another way")
    return paimon


def written_by_us(warehouse: Path, *, keyed: bool, seed: int, ascending: bool = False) -> Table:
    """Upserts, deletes, compactions and an overwrite.

    ``ascending`` sequence numbers need that no overwrite, and no compaction of the last deletes, ends the highest ones:
    Paimon 1.4 takes the earlier of two states for the later when its numbers are higher.
    """
    catalog = load_catalog({"warehouse": str(warehouse)})
    catalog.create_database("db")
    options = {"bucket": "2", "num-sorted-run.compaction-trigger": "3"} if keyed else {}
    schema = Schema.from_arrow(ROWS, primary_keys=["k"] if keyed else [], options=options)
    table = catalog.create_table("db.t", schema)
    rng = random.Random(seed)
    for step in range(7):
        keys = rng.sample(range(12), 6)
        values = [rng.choice(["a", "b", None]) for _ in keys]
        numbers = [rng.choice([0.0, -0.0, 1.5, float("nan"), None]) for _ in keys]
        rows = pa.table([pa.array(keys, pa.int32()), pa.array(values), pa.array(numbers, pa.float64())], schema=ROWS)
        if step == 5 and not ascending:
            table.overwrite(rows)
        else:
            table.append(rows)
        if keyed and step % 2:
            table.delete(f"k < {rng.randrange(1, 6)}")
        if ascending:
            table.append(rows.set_column(0, ROWS.field(0), pa.array(range(90, 96), pa.int32())))
    return table


def rows_of(scan: Any, fields: Sequence[DataField]) -> list[list[Any]]:
    return json_rows(scan.to_arrow(), fields)


def audit(table: Table, warehouse: Path, options: dict[str, str]) -> list[list[Any]]:
    log = load_catalog({"warehouse": str(warehouse)}).load_table(f"{table.identifier}$audit_log")
    assert isinstance(log, SystemTable)
    return rows_of(log.scan(options=options), log.fields)


def flat(changes: list[list[Any]]) -> list[list[Any]]:
    return sorted_rows([[kind, *values] for kind, values in changes])


@pytest.mark.parametrize("mode", ["delta", "diff"])
@pytest.mark.parametrize("seed", range(tries(1, many=3)))
def test_changes_between_any_two_snapshots_are_equal(
    merging_paimon: PaimonPeer, tmp_path: Path, seed: int, mode: str
) -> None:
    table = written_by_us(tmp_path, keyed=True, seed=seed, ascending=mode == "diff")
    latest = table.snapshots()[-1].id
    compared = 0
    for start in range(mode == "diff", latest, 3):
        for end in range(start + 1, latest + 1, 4):
            options = {"incremental-between": f"{start},{end}", "incremental-between-scan-mode": mode}
            log = merging_paimon.changes(tmp_path, "db.t$audit_log", options)
            assert audit(table, tmp_path, options) == sorted_rows([values for _, values in log])
            shown = flat(merging_paimon.changes(tmp_path, "db.t", options))
            added = sorted_rows([row[1:] for row in shown if not row[0].startswith("-")])
            assert rows_of(table.scan(options=options), table.schema.fields) == added
            compared += 1
    assert compared > 8


def test_changes_of_an_append_table_are_equal(merging_paimon: PaimonPeer, tmp_path: Path) -> None:
    table = written_by_us(tmp_path, keyed=False, seed=4)
    latest = table.snapshots()[-1].id
    for start in range(latest):
        options = {"incremental-between": f"{start},{latest}"}
        expected = [values for _, values in merging_paimon.changes(tmp_path, "db.t", options)]
        assert rows_of(table.scan(options=options), table.schema.fields) == sorted_rows(expected)


def test_the_difference_between_tags_is_equal(merging_paimon: PaimonPeer, tmp_path: Path) -> None:
    table = written_by_us(tmp_path, keyed=True, seed=5, ascending=True)
    ids = [s.id for s in table.snapshots()]
    table.create_tag("first", ids[1])
    table.create_tag("second", ids[-2])
    for to_snapshot in ("false", "true"):
        options = {"incremental-between": "first,second", "incremental-between-tag-to-snapshot": to_snapshot}
        log = merging_paimon.changes(tmp_path, "db.t$audit_log", options)
        assert audit(table, tmp_path, options) == sorted_rows([values for _, values in log])


def test_the_changes_to_an_automatic_tag_are_equal(merging_paimon: PaimonPeer, tmp_path: Path) -> None:
    table = written_by_us(tmp_path, keyed=True, seed=5, ascending=True)
    ids = [s.id for s in table.snapshots()]
    for day, snapshot in {"26": ids[0], "28": ids[1], "29": ids[-2]}.items():
        table.create_tag(f"2026-11-{day}", snapshot)
    for day in ("26", "27", "28", "29"):
        options = {"incremental-to-auto-tag": f"2026-11-{day}"}
        log = merging_paimon.changes(tmp_path, "db.t$audit_log", options)
        assert audit(table, tmp_path, options) == sorted_rows([values for _, values in log])


def test_logs_of_every_state_are_equal(merging_paimon: PaimonPeer, tmp_path: Path) -> None:
    table = written_by_us(tmp_path, keyed=True, seed=6)
    for title in ("audit_log", "binlog"):
        log = load_catalog({"warehouse": str(tmp_path)}).load_table(f"db.t${title}")
        assert isinstance(log, SystemTable)
        for snapshot in table.snapshots():
            options = {"scan.snapshot-id": str(snapshot.id)}
            expected = [values for _, values in merging_paimon.changes(tmp_path, f"db.t${title}", options)]
            assert rows_of(log.scan(options=options), log.fields) == sorted_rows(expected)


def test_a_stream_of_ours_shows_the_plans_of_a_stream_of_paimon(paimon: PaimonPeer, tmp_path: Path) -> None:
    table = written_by_us(tmp_path, keyed=True, seed=7)
    for options in stream_options(table, paimon):
        assert streamed(table, options) == expected_plans(paimon, tmp_path, "db.t", options), options


def test_a_stream_of_paimon_goes_on_where_a_consumer_of_ours_has_stopped(paimon: PaimonPeer, tmp_path: Path) -> None:
    table = written_by_us(tmp_path, keyed=True, seed=8)
    options = {"consumer-id": "c", "scan.snapshot-id": "1"}
    stream = table.stream(options=options)
    stream.next_plan()
    stream.acknowledge()
    assert paimon.kept(tmp_path, "db.t")["consumers"] == {"c": stream.checkpoint()}
    rest = expected_plans(paimon, tmp_path, "db.t", options)
    assert min(rest) >= (stream.checkpoint() or 0)
    assert streamed(table, options) == rest


def stream_options(table: Table, paimon: PaimonPeer) -> list[dict[str, str]]:
    middle = table.snapshots()[3]
    since = {"scan.creation-time-millis": str(middle.time_millis)}  # younger than 0.9
    overwrites = {"streaming-read-overwrite": "true"} if table.schema.primary_keys else {}
    return [
        {},
        {"scan.mode": "latest"},
        {"scan.mode": "compacted-full"},
        {"scan.mode": "from-snapshot-full", "scan.snapshot-id": str(middle.id)},
        {"scan.snapshot-id": str(middle.id)},
        {"scan.timestamp-millis": str(middle.time_millis)},
        {"scan.file-creation-time-millis": str(middle.time_millis)},
        *([] if paimon.version.startswith("0.") else [since]),
        {"scan.snapshot-id": "1", **overwrites},
    ]


def streamed(table: Table, options: dict[str, str]) -> dict[int, list[list[Any]]]:
    stream = table.stream(options=options)
    found: dict[int, list[list[Any]]] = {}
    while (plan := stream.next_plan()) is not None:
        assert plan.snapshot is not None
        rows = stream.to_arrow(plan)
        kinds = rows.column("rowkind").to_pylist()
        plain = [json_rows(rows.slice(i, 1), table.schema.fields)[0] for i in range(rows.num_rows)]
        found[plan.snapshot.id] = sorted_rows([[k, *row] for k, row in zip(kinds, plain, strict=True)])
    return found


def expected_plans(paimon: PaimonPeer, warehouse: Path, name: str, options: dict[str, str]) -> dict[int, Any]:
    return {plan["snapshot"]: flat(plan["rows"]) for plan in paimon.stream(warehouse, name, options)}


@pytest.mark.parametrize("producer", ["input", "lookup", "full-compaction"])
def test_a_changelog_written_by_paimon_is_streamed_equally(paimon: PaimonPeer, tmp_path: Path, producer: str) -> None:
    options = {"bucket": "2", "changelog-producer": producer}
    if producer == "full-compaction":
        options["full-compaction.delta-commits"] = "1"
    paimon.create_table(tmp_path, "db.t", columns=COLUMNS, primary_keys=["k"], options=options)
    rng = random.Random(producer)
    for _ in range(4):
        rows = [["-D" if rng.random() < 0.3 else "+I", [k, rng.choice("ab"), k / 2]] for k in rng.sample(range(8), 5)]
        paimon.write(tmp_path, "db.t", rows)
        if producer != "input":
            paimon.compact(tmp_path, "db.t")
    table = load_catalog({"warehouse": str(tmp_path)}).load_table("db.t")
    assert isinstance(table, Table)
    for options in stream_options(table, paimon):
        if producer == "input" or "streaming-read-overwrite" not in options:
            assert streamed(table, options) == expected_plans(paimon, tmp_path, "db.t", options), options
    if not paimon.version.startswith("0."):
        log = load_catalog({"warehouse": str(tmp_path)}).load_table("db.t$binlog")
        assert isinstance(log, SystemTable)
        span = {"incremental-between": f"0,{table.snapshots()[-1].id}"}
        packed = [values for _, values in paimon.changes(tmp_path, "db.t$binlog", span)]
        assert rows_of(log.scan(options=span), log.fields) == sorted_rows(packed)
        assert producer != "lookup" or any(row[0] == "+U" and len(row[1]) == 2 for row in packed)


@pytest.mark.parametrize("engine", ["deduplicate", "partial-update", "aggregation", "first-row"])
def test_without_a_changelog_the_rows_are_streamed_as_they_were_written(
    paimon: PaimonPeer, tmp_path: Path, engine: str
) -> None:
    """The core of Paimon does not ask for the merge engine; only its Flink source does (ADR 23)."""
    options = {"bucket": "2", "merge-engine": engine, "fields.n.aggregate-function": "sum"}
    if engine != "aggregation":
        del options["fields.n.aggregate-function"]
    paimon.create_table(tmp_path, "db.t", columns=COLUMNS, primary_keys=["k"], options=options)
    rng = random.Random(engine)
    for _ in range(4):
        kinds = ("+I", "+I", "-D") if engine == "deduplicate" else ("+I",)
        rows = [[rng.choice(kinds), [k, rng.choice("ab"), k / 2]] for k in rng.sample(range(8), 5)]
        paimon.write(tmp_path, "db.t", rows)
        paimon.compact(tmp_path, "db.t")
    table = load_catalog({"warehouse": str(tmp_path)}).load_table("db.t")
    compared = 0
    for given in ({"scan.mode": "from-snapshot", "scan.snapshot-id": "1"}, {"scan.mode": "latest-full"}):
        theirs = expected_plans(paimon, tmp_path, "db.t", given)
        assert streamed(table, given) == theirs
        compared += len(theirs)
    assert compared > 1


@pytest.mark.parametrize("engine", ["partial-update", "aggregation"])
def test_without_a_changelog_a_range_has_the_rows_as_written_and_diff_compares_merged_states(
    merging_paimon: PaimonPeer, tmp_path: Path, engine: str
) -> None:
    """The real Paimon leaves files that both states have out of its diff, and shows the inputs of the others."""
    summed = {"fields.n.aggregate-function": "sum"} if engine == "aggregation" else {}
    options = {"bucket": "2", "merge-engine": engine, "write-only": "true", **summed}
    merging_paimon.create_table(tmp_path, "db.t", columns=COLUMNS, primary_keys=["k"], options=options)
    rng = random.Random(engine)
    for _ in range(4):
        rows = [["+I", [k, rng.choice(["a", "b", None]), rng.choice([k / 2, None])]] for k in rng.sample(range(8), 5)]
        merging_paimon.write(tmp_path, "db.t", rows)
    table = load_catalog({"warehouse": str(tmp_path)}).load_table("db.t")
    assert isinstance(table, Table)
    states = {s.id: merging_paimon.read_at(tmp_path, "db.t", s.id)["rows"] for s in table.snapshots()}
    fields = table.schema.fields
    for start in range(4):
        for end in range(start + 1, 5):
            span = {"incremental-between": f"{start},{end}"}
            shown = [values for _, values in merging_paimon.changes(tmp_path, "db.t", span)]
            assert rows_of(table.scan(options=span), fields) == sorted_rows(shown)
            log = merging_paimon.changes(tmp_path, "db.t$audit_log", span)
            assert audit(table, tmp_path, span) == sorted_rows([values for _, values in log])
            if start:
                new = [row for row in states[end] if row not in states[start]]
                diff = {**span, "incremental-between-scan-mode": "diff"}
                assert rows_of(table.scan(options=diff), fields) == sorted_rows(new)
