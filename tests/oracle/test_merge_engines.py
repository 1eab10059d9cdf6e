"""Merge engines: what we write, merge and compact, and what the real Paimon does with the same histories.

Every key is a history of its own. Each history is written in the same commits to three tables: one that only we write
and compact, one that only Paimon does, and one where chance decides at every step. Then each side reads all three.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_format import Schema, Table, load_catalog
from table_format.catalog.protocol import Catalog
from table_format.model.types import BigIntType, DataField
from tests.oracle.peer import PaimonPeer
from tests.support.json_rows import json_rows, rows_with_floats

KEYS = 150
STEPS = 7
EPOCH = datetime(2020, 1, 1)
GROUPS = {"fields.g.sequence-group": "a,b", "fields.h,i.sequence-group": "c,l"}

COLUMNS: dict[str, tuple[pa.DataType, Callable[[random.Random], Any]]] = {
    "k": (pa.int32(), lambda chance: 0),
    "a": (pa.int64(), lambda chance: chance.randrange(-5, 6)),
    "b": (pa.string(), lambda chance: chance.choice(["", "x", "yy", "中"])),
    "g": (pa.int32(), lambda chance: chance.randrange(4)),
    "c": (pa.decimal128(10, 2), lambda chance: Decimal(chance.randrange(-500, 500)).scaleb(-2)),
    "l": (pa.list_(pa.field("element", pa.int32())), lambda chance: [chance.randrange(3) for _ in range(2)]),
    "h": (pa.date32(), lambda chance: date(2020, 1, 1) + timedelta(days=chance.randrange(3))),
    "i": (pa.string(), lambda chance: chance.choice(["", "a", "ab"])),
    "p": (pa.float64(), lambda chance: chance.randrange(-8, 8) / 4),
}

SEQUENCES: dict[str, tuple[pa.DataType, Callable[[random.Random], Any]]] = {
    "decimal(9,2)": (pa.decimal128(9, 2), lambda chance: Decimal(chance.randrange(-2, 3)).scaleb(-2)),
    "decimal(30,2)": (pa.decimal128(30, 2), lambda chance: Decimal(chance.randrange(-2, 3) * 10**25).scaleb(-2)),
    "tinyint": (pa.int8(), lambda chance: chance.choice([-128, -1, 0, 127])),
    "smallint": (pa.int16(), lambda chance: chance.choice([-(2**15), -1, 0, 2**15 - 1])),
    "int": (pa.int32(), lambda chance: chance.choice([-(2**31), -1, 0, 2**31 - 1])),
    "bigint": (pa.int64(), lambda chance: chance.choice([-(2**63), -1, 0, 2**63 - 1])),
    "float": (pa.float32(), lambda chance: chance.choice([-1.5, 0.0, 1.5])),
    "double": (pa.float64(), lambda chance: chance.choice([-1e300, 0.0, 1e300])),
    "date": (pa.date32(), lambda chance: date(1969, 12, 31) + timedelta(days=chance.randrange(3))),
    "time": (pa.time32("ms"), lambda chance: (EPOCH + timedelta(milliseconds=chance.randrange(3))).time()),
    "timestamp": (pa.timestamp("us"), lambda chance: EPOCH + timedelta(microseconds=chance.randrange(3))),
    "timestamp_ltz": (pa.timestamp("us", "UTC"), lambda chance: EPOCH + timedelta(microseconds=chance.randrange(3))),
    "string": (pa.string(), lambda chance: chance.choice(["", "a", "é", "😀", "\uffff"])),
}


@dataclass(frozen=True)
class Case:
    """Options of a table, and whether rows are taken back; ``types`` replace those of ``COLUMNS``."""

    options: dict[str, str]
    retracts: bool = False
    types: dict[str, tuple[pa.DataType, Callable[[random.Random], Any]]] = field(default_factory=dict)

    @property
    def columns(self) -> dict[str, tuple[pa.DataType, Callable[[random.Random], Any]]]:
        return {**COLUMNS, **self.types}

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([pa.field(n, t, nullable=n != "k") for n, (t, _) in self.columns.items()])


def partial_update(retracts: bool = False, **options: str) -> Case:
    return Case({"merge-engine": "partial-update", **_keys(options)}, retracts)


def aggregation(retracts: bool = False, **functions: str) -> Case:
    named = {f"fields.{column}.aggregate-function": function for column, function in functions.items()}
    return Case({"merge-engine": "aggregation", **named}, retracts)


def _keys(options: dict[str, str]) -> dict[str, str]:
    return {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}


def with_options(case: Case, options: dict[str, str]) -> Case:
    return Case({**case.options, **options}, case.retracts, case.types)


RETRACTABLE = {"a": "sum", "b": "last_value", "g": "sum", "c": "sum", "l": "collect", "p": "sum"}
CASES: dict[str, Case] = {
    "deduplicate": Case({}, retracts=True),
    "deduplicate by sequence": Case({"sequence.field": "g,i"}, retracts=True),
    "first-row": Case({"merge-engine": "first-row"}),
    "first-row, deletes ignored": Case({"merge-engine": "first-row", "ignore-delete": "true"}, retracts=True),
    "partial-update": partial_update(),
    "partial-update by sequence": partial_update(sequence__field="g"),
    "partial-update, deletes ignored": partial_update(True, partial_update__ignore_delete="true"),
    "partial-update, deletes remove": partial_update(True, partial_update__remove_record_on_delete="true"),
    "groups": with_options(partial_update(), GROUPS),
    "groups, retracts": with_options(partial_update(True), GROUPS),
    "groups by sequence, retracts": with_options(partial_update(True, sequence__field="p"), GROUPS),
    "groups, one removes": with_options(
        partial_update(True), {**GROUPS, "partial-update.remove-record-on-sequence-group": "g"}
    ),
    "groups, both remove": with_options(
        partial_update(True), {**GROUPS, "partial-update.remove-record-on-sequence-group": "g,i"}
    ),
    "groups with functions, retracts": with_options(
        partial_update(True),
        {
            **GROUPS,
            "fields.a.aggregate-function": "sum",
            "fields.b.aggregate-function": "last_non_null_value",
            "fields.c.aggregate-function": "sum",
            "fields.l.aggregate-function": "collect",
        },
    ),
    "groups with functions by order": with_options(
        partial_update(),
        {
            **GROUPS,
            "fields.a.aggregate-function": "first_value",
            "fields.b.aggregate-function": "listagg",
            "fields.c.aggregate-function": "max",
            "fields.l.aggregate-function": "last_value",
        },
    ),
    "groups with functions, one removes": with_options(
        partial_update(True),
        {
            **GROUPS,
            "partial-update.remove-record-on-sequence-group": "g",
            "fields.a.aggregate-function": "sum",
            "fields.c.aggregate-function": "last_value",
        },
    ),
    "groups with a default function": with_options(
        partial_update(), {**GROUPS, "fields.default-aggregate-function": "last_non_null_value"}
    ),
    "aggregation": aggregation(a="sum", b="listagg", g="max", c="min", l="collect", h="first_value", p="product"),
    "aggregation, retracts": aggregation(True, **RETRACTABLE),
    "aggregation by sequence, retracts": with_options(aggregation(True, **RETRACTABLE), {"sequence.field": "h,i"}),
    "aggregation, retracts ignored": with_options(
        aggregation(True, a="max", b="first_non_null_value", g="min", p="sum"),
        {f"fields.{column}.ignore-retract": "true" for column in "abg"},
    ),
    "aggregation, deletes remove": with_options(
        aggregation(True, **RETRACTABLE), {"aggregation.remove-record-on-delete": "true"}
    ),
    "aggregation with a default function": with_options(
        aggregation(), {"fields.default-aggregate-function": "last_value"}
    ),
    **{
        f"group by {name}": Case(
            {"merge-engine": "partial-update", "fields.g.sequence-group": "a,b"}, retracts=True, types={"g": made}
        )
        for name, made in SEQUENCES.items()
    },
}

# A compaction by lookup passes every key through the merge function, also keys with one version.
CASES |= {
    f"{name}, {how}": with_options(CASES[name], options)
    for how, options in {
        "by lookup": {"changelog-producer": "lookup"},
        "marked": {"deletion-vectors.enabled": "true"},
    }.items()
    for name in ("groups with functions, retracts", "aggregation, retracts", "groups")
}

# Late rows of keys whose delete a compaction has removed, and rows with equal values of the sequence field.
CASES |= {
    f"{name}, {how}": with_options(CASES[name], options)
    for how, options in {
        "by lookup": {"changelog-producer": "lookup"},
        "marked": {"deletion-vectors.enabled": "true"},
        "in full": {"changelog-producer": "full-compaction"},
    }.items()
    for name in (
        "deduplicate by sequence",
        "groups, one removes",
        "aggregation, deletes remove",
        "aggregation by sequence, retracts",
    )
}


@pytest.fixture(scope="module")
def newest(peers: Callable[[str], PaimonPeer]) -> PaimonPeer:
    return peers("1.4.2")


def create(catalog: Catalog, name: str, case: Case, **options: str) -> None:
    catalog.create_database("db", ignore_if_exists=True)
    given = {"bucket": "1", **case.options, **_keys(options)}
    catalog.create_table(f"db.{name}", Schema.from_arrow(case.schema, primary_keys=["k"], options=given))


def some_rows(case: Case, chance: random.Random) -> tuple[list[str], pa.Table]:
    """A batch in which some keys have several rows; lone retracts of unknown keys happen too."""
    keys = [key for key in range(KEYS) for _ in range(chance.choice([0, 0, 1, 1, 2, 3]))]
    chance.shuffle(keys)
    rows = [
        {name: make(chance) if chance.random() > 0.3 else None for name, (_, make) in case.columns.items()} | {"k": key}
        for key in keys
    ]
    kinds = ["+I", "+I", "+U", "-U", "-D"] if case.retracts else ["+I", "+U"]
    return [chance.choice(kinds) for _ in keys], pa.Table.from_pylist(rows, schema=case.schema)


@dataclass
class Trio:
    """Three tables with one history."""

    paimon: PaimonPeer
    warehouse: Path
    case: Case

    def table(self, name: str) -> Table:
        opened = load_catalog({"warehouse": str(self.warehouse)}).load_table(f"db.{name}")
        assert isinstance(opened, Table)
        return opened

    def write(self, name: str, kinds: list[str], rows: pa.Table, *, by_us: bool) -> None:
        if by_us:
            self.table(name).append(rows.append_column("_row_kind", pa.array(kinds, pa.string())))
            return
        fields = self.table(name).schema.fields
        texts = _rows_in_order(rows, fields)
        self.paimon.write(self.warehouse, f"db.{name}", [list(pair) for pair in zip(kinds, texts, strict=True)])

    def compact(self, name: str, *, by_us: bool) -> None:
        if by_us:
            self.table(name).compact(full=True)
        else:
            self.paimon.compact(self.warehouse, f"db.{name}", {"write-only": "false"})

    def read(self, name: str) -> tuple[list[list[Any]], list[list[Any]]]:
        table = self.table(name)
        fields = table.scan().plan().fields
        theirs = self.paimon.read(self.warehouse, f"db.{name}")
        return json_rows(table.scan().to_arrow(), fields), rows_with_floats(theirs["rows"], fields)


def _rows_in_order(rows: pa.Table, fields: Sequence[DataField]) -> list[list[Any]]:
    numbered = rows.append_column("number", pa.array(range(rows.num_rows), pa.int64()))
    found = json_rows(numbered, (*fields, DataField(-1, "number", BigIntType())))
    return [row[:-1] for row in sorted(found, key=lambda row: row[-1])]


@pytest.mark.parametrize("name", CASES)
def test_the_same_histories_give_the_same_rows(newest: PaimonPeer, tmp_path: Path, name: str) -> None:
    case = CASES[name]
    chance = random.Random(name)
    catalog = load_catalog({"warehouse": str(tmp_path)})
    # Rows of first-row tables are seen once they are compacted.
    write_only = str("first-row" not in case.options.values()).lower()
    for table in ("ours", "theirs", "mixed"):
        create(catalog, table, case, write_only=write_only)
    trio = Trio(newest, tmp_path, case)
    for step in range(STEPS):
        kinds, rows = some_rows(case, chance)
        chosen = {"ours": True, "theirs": False, "mixed": chance.random() < 0.5}
        for table, by_us in chosen.items():
            trio.write(table, kinds, rows, by_us=by_us)
        if step % 3 == 2:
            for table, by_us in {**chosen, "mixed": chance.random() < 0.5}.items():
                trio.compact(table, by_us=by_us)
    ours, of_ours = trio.read("ours")
    assert len(ours) > KEYS / 3
    assert of_ours == ours
    for table in ("theirs", "mixed"):
        read, theirs = trio.read(table)
        assert theirs == ours, table
        assert read == ours, table


ASSOCIATIVE = {
    name: case
    for name, case in CASES.items()
    if name in ("first-row", "partial-update", "groups", "deduplicate by sequence", "group by bigint")
} | {"sums": aggregation(a="sum", b="last_non_null_value", g="max", c="sum", l="last_value", h="min")}


@pytest.mark.parametrize("name", ASSOCIATIVE)
def test_any_compaction_schedule_gives_the_same_rows(newest: PaimonPeer, tmp_path: Path, name: str) -> None:
    case = Case(CASES[name].options if name in CASES else ASSOCIATIVE[name].options)
    chance = random.Random(name)
    catalog = load_catalog({"warehouse": str(tmp_path)})
    for table in ("ours", "theirs", "mixed"):
        create(catalog, table, case, num_sorted_run__compaction_trigger=chance.choice("2345"))
    trio = Trio(newest, tmp_path, case)
    for _ in range(12):
        kinds, rows = some_rows(case, chance)
        for table, by_us in {"ours": True, "theirs": False, "mixed": chance.random() < 0.5}.items():
            trio.write(table, kinds, rows, by_us=by_us)
    ours, of_ours = trio.read("ours")
    assert of_ours == ours
    for table in ("theirs", "mixed"):
        read, theirs = trio.read(table)
        assert theirs == ours, table
        assert read == ours, table


LATE: dict[str, tuple[dict[str, str], int | None]] = {
    "deduplicate": ({"sequence.field": "s"}, 7),
    "deduplicate, deletes ignored": ({"sequence.field": "s", "ignore-delete": "true"}, 7),
    "partial-update": (
        {
            "merge-engine": "partial-update",
            "sequence.field": "s",
            "partial-update.remove-record-on-delete": "true",
        },
        7,
    ),
    "groups": ({"merge-engine": "partial-update", "fields.s.sequence-group": "v"}, None),
    "groups, one removes": (
        {
            "merge-engine": "partial-update",
            "fields.s.sequence-group": "v",
            "partial-update.remove-record-on-sequence-group": "s",
        },
        7,
    ),
    "aggregation": (
        {
            "merge-engine": "aggregation",
            "sequence.field": "s",
            "fields.v.aggregate-function": "sum",
            "aggregation.remove-record-on-delete": "true",
        },
        7,
    ),
}


@pytest.mark.parametrize(
    "how", [{}, {"changelog-producer": "lookup"}, {"deletion-vectors.enabled": "true"}], ids=["", "lookup", "marked"]
)
@pytest.mark.parametrize("name", LATE)
def test_a_row_that_is_older_than_a_removed_delete_returns_in_both(
    newest: PaimonPeer, tmp_path: Path, name: str, how: dict[str, str]
) -> None:
    """5 is written, deleted with 9 and compacted; then 7 arrives. A group keeps the number of the delete."""
    options, expected = LATE[name]
    schema = pa.schema([pa.field("k", pa.int32(), nullable=False), ("s", pa.int32()), ("v", pa.int32())])
    steps = [("+I", 5), ("-D", 9), None, ("+I", 7), None]
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    told = {}
    for writer in ("ours", "theirs"):
        given = {"bucket": "1", "write-only": "true", **options, **how}
        table = catalog.create_table(f"db.{writer}", Schema.from_arrow(schema, primary_keys=["k"], options=given))
        trio = Trio(newest, tmp_path, Case(options))
        for step in steps:
            if step is None:
                trio.compact(writer, by_us=writer == "ours")
                continue
            kind, number = step
            trio.write(writer, [kind], pa.table([[1], [number], [number]], schema=schema), by_us=writer == "ours")
        read, theirs = trio.read(writer)
        assert read == theirs
        told[writer] = [row[2] for row in read]
        assert table.verify(depth="rows").is_healthy
    assert told == {"ours": [expected], "theirs": [expected]}


@pytest.mark.parametrize("first", ["one", "other"])
def test_of_equal_sequence_numbers_the_file_decides_here_and_the_key_before_there(
    paimon: PaimonPeer, tmp_path: Path, first: str
) -> None:
    """Writers that do not see each other give two rows of a key one number (docs/merge-engines.md).

    Paimon's tree of readers lets the reader win that has moved last: that of the file with the key before. Here, of two
    files with the same largest number and level, the one whose keys begin later wins. Commits are in no order.
    """
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    schema = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.string())])
    options = {"bucket": "1", "write-only": "true"}
    table = catalog.create_table("db.t", Schema.from_arrow(schema, primary_keys=["k"], options=options))
    batches = {name: pa.table([[k, 2], [name] * 2], schema=schema) for name, k in (("one", 1), ("other", 5))}
    messages = {name: table.new_write().write(batch) for name, batch in batches.items()}
    for name in sorted(messages, key=lambda name: name != first):
        table.new_commit().commit(messages[name])
    assert [row["v"] for row in table.scan().to_arrow().to_pylist() if row["k"] == 2] == ["other"]
    assert dict(paimon.read(tmp_path, "db.t")["rows"])[2] == "one"
