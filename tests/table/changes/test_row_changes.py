"""UPDATE, DELETE and MERGE: the table is what a plain list of rows becomes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from table_format import Delete, Insert, Table, Update
from table_format.indexes.deletion_vectors import VectorReader
from tests.support.deletion_marks import live
from tests.support.tables import memory_warehouse, rows_of

COLUMNS = pa.schema(
    [
        pa.field("k", pa.int32(), nullable=False),
        pa.field("p", pa.string(), nullable=False),
        ("v", pa.int64()),
        ("s", pa.string()),
    ]
)
SOURCE = pa.schema([("k", pa.int64()), ("p", pa.string()), ("v", pa.int64()), ("op", pa.string())])
MARKS = {"deletion-vectors.enabled": "true"}
APPEND = [
    {},
    MARKS,
    {**MARKS, "deletion-vectors.bitmap64": "true"},
    {"bucket": "2", "bucket-key": "k"},
    {"bucket": "2", "bucket-key": "v", **MARKS},
    {"file.format": "avro", **MARKS},
]
KEYED = [
    {},
    {"changelog-producer": "input"},
    MARKS,
    {"changelog-producer": "lookup"},
    {"changelog-producer": "full-compaction"},
    {"bucket": "-1"},
]
Row = tuple[Any, ...]

KEY = st.integers(0, 12)
PART = st.sampled_from("ab")
VALUE = st.one_of(st.none(), st.integers(-5, 5))
TEXT = st.sampled_from([None, "x", "yy", ""])
ROWS = st.lists(st.tuples(KEY, PART, VALUE, TEXT), min_size=1, max_size=8)

FILTERS: list[tuple[str | None, Any]] = [
    (None, lambda r: True),
    ("k < 6", lambda r: r[0] < 6),
    ("p = 'a' AND v >= 0", lambda r: r[1] == "a" and r[2] is not None and r[2] >= 0),
    ("v IS NULL OR s = 'x'", lambda r: r[2] is None or r[3] == "x"),
    ("k > 100", lambda r: False),
]


def plus(value: int | None, other: int | None) -> int | None:
    return None if value is None or other is None else value + other


def assigned(row: Row, **values: Any) -> Row:
    return tuple(values.get(name, old) for name, old in zip(COLUMNS.names, row, strict=True))


UPDATES: list[tuple[dict[str, Any], Any]] = [
    ({"v": "v + 1"}, lambda r: assigned(r, v=plus(r[2], 1))),
    ({"v": 7, "s": "s || '!'"}, lambda r: assigned(r, v=7, s=plus(r[3], "!"))),
    ({"s": "CASE WHEN v > 0 THEN 'pos' WHEN v <= 0 THEN 'neg' END"}, lambda r: assigned(r, s=sign(r[2]))),
    ({"v": "COALESCE(v, k)", "s": None}, lambda r: assigned(r, v=r[0] if r[2] is None else r[2], s=None)),
    (
        {"v": lambda rows: pa.array([len(s or "") for s in rows.column("s").to_pylist()])},
        lambda r: assigned(r, v=len(r[3] or "")),
    ),
]
MOVES: list[tuple[dict[str, Any], Any]] = [
    ({"p": "CASE WHEN p = 'a' THEN 'b' ELSE 'c' END"}, lambda r: assigned(r, p="b" if r[1] == "a" else "c")),
    ({"k": "k + 1", "p": "'a'"}, lambda r: assigned(r, k=r[0] + 1, p="a")),
]


def sign(value: int | None) -> str | None:
    return None if value is None else "pos" if value > 0 else "neg"


SOURCES = st.lists(st.tuples(st.one_of(st.none(), KEY), PART, VALUE, st.sampled_from("udi")), max_size=6)


def merged(rows: list[Row], source: list[Row], on: tuple[int, ...], *, tidies: bool) -> tuple[list[Row], int, int, int]:
    """The rows after the MERGE of ``merge``, and how many were inserted, updated and deleted."""
    known = {tuple(s[i] for i in on): s for s in source if all(s[i] is not None for i in on)}
    met, after, updated, deleted = set(), [], 0, 0
    for row in rows:
        key = tuple(row[i] for i in on)
        other = known.get(key)
        if other is None:
            if tidies and row[3] == "x":
                deleted += 1
            elif tidies and row[2] is None:
                after.append(assigned(row, v=0))
                updated += 1
            else:
                after.append(row)
            continue
        met.add(key)
        if other[3] == "d":
            deleted += 1
        elif other[3] == "u":
            after.append(assigned(row, v=plus(row[2], other[2])))
            updated += 1
        else:
            after.append(row)
    new = [(s[0], s[1], s[2], "new") for s in source if tuple(s[i] for i in on) not in met]
    new = [r for r in new if r[0] is not None and (r[2] is None or r[2] >= 0)]
    return after + new, len(new), updated, deleted


def merge(table: Table, source: list[Row], on: list[str], *, tidies: bool) -> Any:
    columns = list(zip(*source, strict=True)) if source else [()] * 4
    data = pa.table([pa.array(c, f.type) for c, f in zip(columns, SOURCE, strict=True)], schema=SOURCE)
    return table.merge(
        data,
        on,
        when_matched=[Delete("source.op = 'd'"), Update({"v": "target.v + s.v"}, "op = 'u'")],
        when_not_matched=Insert(
            {"k": "CAST(k AS INT)", "p": "p", "v": "v", "s": "'new'"}, "k IS NOT NULL AND (v IS NULL OR v >= 0)"
        ),
        when_not_matched_by_source=[Delete("s = 'x'"), Update({"v": 0}, "v IS NULL")] if tidies else (),
    )


def batch(rows: list[Row]) -> pa.Table:
    return pa.table(
        [pa.array(c, f.type) for c, f in zip(zip(*rows, strict=True), COLUMNS, strict=True)], schema=COLUMNS
    )


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), ROWS),
        st.tuples(st.just("delete"), st.sampled_from(FILTERS[1:])),
        st.tuples(st.just("update"), st.tuples(st.sampled_from(UPDATES), st.sampled_from(FILTERS))),
        st.tuples(st.just("move"), st.tuples(st.sampled_from(MOVES), st.sampled_from(FILTERS))),
        st.tuples(st.just("merge"), st.tuples(SOURCES, st.booleans())),
    ),
    min_size=2,
    max_size=7,
)


def once(source: list[Row], on: tuple[int, ...]) -> list[Row]:
    """The first row of each key."""
    kept: dict[Any, Row] = {}
    for number, row in enumerate(source):
        key = tuple(row[i] for i in on)
        kept.setdefault(number if None in key else key, row)
    return list(kept.values())


@settings(max_examples=40, deadline=None)
@given(STEPS, st.sampled_from(APPEND), st.booleans())
def test_an_append_table_is_changed_like_a_list(steps: list[Any], options: dict[str, str], partitioned: bool) -> None:
    table = memory_warehouse().table(schema=COLUMNS, partition_keys=["p"] if partitioned else [], options=options)
    expected: list[Row] = []
    for step, argument in steps:
        if step == "append":
            table.append(batch(argument))
            expected += argument
        elif step == "delete":
            text, holds = argument
            result = table.delete(text)
            assert (result.inserted, result.updated, result.deleted) == (0, 0, sum(map(holds, expected)))
            expected = [row for row in expected if not holds(row)]
        elif step in ("update", "move"):
            (values, change), (text, holds) = argument
            result = table.update(values, text)
            assert (result.inserted, result.updated, result.deleted) == (0, sum(map(holds, expected)), 0)
            expected = [change(row) if holds(row) else row for row in expected]
        else:
            source, tidies = once(argument[0], (0,)), argument[1]
            result = merge(table, source, ["k"], tidies=tidies)
            expected, *counts = merged(expected, source, (0,), tidies=tidies)
            assert [result.inserted, result.updated, result.deleted] == counts
        assert rows_of(table) == sorted(expected, key=repr)
    assert stored_rows(table) == len(expected)


@settings(max_examples=40, deadline=None)
@given(STEPS, st.sampled_from(KEYED), st.booleans(), st.booleans())
def test_a_primary_key_table_is_changed_like_a_dictionary(
    steps: list[Any], options: dict[str, str], partitioned: bool, by_half_the_key: bool
) -> None:
    keys = ["k", "p"]
    table = memory_warehouse().table(
        schema=COLUMNS, primary_keys=keys, partition_keys=["p"] if partitioned else [], options=options
    )
    expected: dict[Row, Row] = {}
    on = (0,) if by_half_the_key else (0, 1)
    for step, argument in steps:
        if step == "append":
            table.append(batch(argument))
            expected |= {row[:2]: row for row in argument}
        elif step == "delete":
            text, holds = argument
            result = table.delete(text)
            assert result.deleted == sum(map(holds, expected.values()))
            expected = {key: row for key, row in expected.items() if not holds(row)}
        elif step == "update":
            (values, change), (text, holds) = argument
            result = table.update(values, text)
            assert (result.inserted, result.updated, result.deleted) == (0, sum(map(holds, expected.values())), 0)
            expected = {key: change(row) if holds(row) else row for key, row in expected.items()}
        elif step == "merge":
            source, tidies = once(argument[0], on), argument[1]
            result = merge(table, source, ["k"] if by_half_the_key else keys, tidies=tidies)
            rows, *counts = merged(list(expected.values()), source, on, tidies=tidies)
            assert [result.inserted, result.updated, result.deleted] == counts
            expected = {row[:2]: row for row in rows}
        assert rows_of(table) == sorted(expected.values(), key=repr)


def stored_rows(table: Table) -> int:
    """Rows in live files without those that are marked."""
    snapshot = table.latest_snapshot()
    if snapshot is None:
        return 0
    rows = {entry.file.file_name: entry.file.row_count for entry in live(table)}
    marks = 0
    for files in table.facts.deletion_files(snapshot).values():
        for name, file in files.items():
            marks += VectorReader(table.store.io).read(file, rows[name]).cardinality
    return sum(rows.values()) - marks


STATEMENTS = STEPS.map(lambda steps: [step for step in steps if step[0] in ("delete", "update", "merge")])


@settings(max_examples=25, deadline=None)
@given(ROWS, STATEMENTS, st.sampled_from(["input", "lookup"]))
def test_the_changelog_of_statements_takes_back_what_was_there(
    first: list[Row], steps: list[Any], producer: str
) -> None:
    table = memory_warehouse().table(
        schema=COLUMNS, primary_keys=["k", "p"], options={"bucket": "1", "changelog-producer": producer}
    )
    table.append(batch(list({row[:2]: row for row in first}.values())))
    for step, argument in steps:
        if step == "delete":
            table.delete(argument[0])
        elif step == "update":
            table.update(argument[0][0], argument[1][0])
        else:
            merge(table, once(argument[0], (0, 1)), ["k", "p"], tidies=argument[1])
    stream = table.stream(options={"scan.mode": "from-snapshot", "scan.snapshot-id": "1"})
    found: dict[Row, Row] = {}
    while (plan := stream.next_plan()) is not None:
        for kind, *row in zip(*(column.to_pylist() for column in stream.to_arrow(plan).columns), strict=True):
            key = tuple(row[:2])
            if kind in ("-U", "-D"):
                assert found.pop(key) == tuple(row)
            else:
                assert key not in found
                found[key] = tuple(row)
    assert rows_of(table) == sorted(found.values(), key=repr)
