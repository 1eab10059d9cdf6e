"""What UPDATE, DELETE and MERGE accept and refuse, how they meet other commits, and what readers see of them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from table_format import Delete, Insert, RowChanges, Schema, Table, Update
from table_format.errors import (
    ColumnNotFound,
    FileConflict,
    InvalidData,
    InvalidExpression,
    InvalidInputError,
    TableFormatError,
    UnsupportedFeature,
)
from table_format.model.schema_change import SetColumnDefault
from table_format.model.snapshot import CommitKind
from table_format.model.types import BigIntType, DataField, IntType, VarCharType
from table_format.table.changes.row_actions import MAX_ATTEMPTS
from table_format.table.write.table_write import TableWrite
from tests.support.deletion_marks import live_data_files
from tests.support.tables import Warehouse, keyed, memory_warehouse, rows_of

MARKS = {"deletion-vectors.enabled": "true"}
BUCKETED = {"bucket": "2", "bucket-key": "id"}


@pytest.fixture
def memory() -> Warehouse:
    return memory_warehouse()


def filled(options: dict[str, str] | None = None, **arguments: Any) -> Table:
    table = memory_warehouse().table(options=options, **arguments)
    for start in range(0, 30, 10):
        table.append(keyed([(i, "ab"[i % 2], i) for i in range(start, start + 10)]))
    return table


def sums(table: Table) -> dict[int, int]:
    return {row[0]: row[2] for row in rows_of(table)}


@pytest.mark.parametrize("options", [{}, MARKS, {**BUCKETED, **MARKS}])
def test_an_update_is_one_commit_that_touches_only_files_with_such_rows(options: dict[str, str]) -> None:
    table = filled(options)
    before = {file.file_name for file in live_data_files(table)}
    result = table.update({"v": "v + 100"}, "id IN (3, 4)")
    assert (result.inserted, result.updated, result.deleted) == (0, 2, 0)
    (snapshot,) = result.snapshots
    assert result.snapshot is snapshot
    assert snapshot.commit_kind is CommitKind.OVERWRITE
    assert sums(table) == {i: i + 100 if i in (3, 4) else i for i in range(30)}
    after = {file.file_name for file in live_data_files(table)}
    assert (before <= after) is bool(options)
    assert len(before & after) >= 2


def test_rewritten_rows_stay_where_they_were() -> None:
    table = filled({"bucket": "1", "bucket-key": "id"})
    table.update({"v": -1}, "id = 3 OR id = 17")
    assert table.scan(columns=["id"]).to_arrow().column("id").to_pylist() == list(range(30))


@pytest.mark.parametrize("options", [{}, MARKS])
def test_rows_move_to_the_partition_they_are_assigned(options: dict[str, str]) -> None:
    table = filled(options, partition_keys=["dt"])
    assert table.update({"dt": "'c'"}, "v >= 20").updated == 10
    assert len(rows_of(table, filter="dt = 'c'")) == 10
    assert sorted(sums(table)) == list(range(30))


@pytest.mark.parametrize("options", [{}, MARKS])
def test_nothing_to_change_is_no_commit(options: dict[str, str]) -> None:
    table = filled(options)
    nothing = RowChanges()
    assert table.update({"v": 1}, "id > 100") == nothing
    source = keyed([(5, "a", 5), (500, "a", 5)])
    assert table.merge(source, "id", when_matched=Update({"v": 0}, "target.v > 7")) == nothing
    assert table.merge(keyed([]), "id", when_matched=Delete(), when_not_matched=Insert()) == nothing
    assert len(table.snapshots()) == 3


def test_values_are_constants_texts_and_functions(memory: Warehouse) -> None:
    columns = pa.schema(
        [
            ("i", pa.int8()),
            ("d", pa.decimal128(10, 2)),
            ("day", pa.date32()),
            ("at", pa.timestamp("us")),
            ("list", pa.list_(pa.int32())),
            ("s", pa.string()),
        ]
    )
    table = memory.table(schema=columns)
    table.append(
        pa.table([pa.array([1], f.type) if f.name == "i" else pa.nulls(1, f.type) for f in columns], schema=columns)
    )
    values = {
        "i": 7,
        "d": Decimal("1.5"),
        "day": date(2024, 2, 29),
        "at": "TIMESTAMP '2024-02-29 12:00:00'",
        "list": [1, None],
        "s": lambda rows: pa.array([f"i was {i}" for i in rows.column("i").to_pylist()]),
    }
    table.update(values)
    expected = (7, Decimal("1.50"), date(2024, 2, 29), datetime(2024, 2, 29, 12), [1, None], "i was 1")
    assert rows_of(table) == [expected]
    table.update({"i": None, "s": pa.scalar("i")})
    assert rows_of(table)[0][::5] == (None, "i")


@pytest.mark.parametrize(
    ("values", "where", "error", "names"),
    [
        ({"v": "w + 1"}, None, ColumnNotFound, "'w'"),
        ({"w": "v"}, None, ColumnNotFound, "'w'"),
        ({"v": "source.v"}, None, InvalidExpression, "source.v"),
        ({"v": "dt"}, None, InvalidData, "'v' is INT"),
        ({"v": "'1'"}, None, InvalidData, "'v' is INT"),
        ({"v": "v % 2"}, None, InvalidExpression, "Mod is not supported"),
        ({"v": "CAST(v / 0 AS INT)"}, None, InvalidExpression, "divide by zero"),
        ({"v": "v + 2147483647"}, None, InvalidData, "'v' is INT, which cannot hold"),
        ({"v": 2**40}, None, InvalidData, "'v' is INT, which cannot hold"),
        ({"id": None}, None, InvalidData, "'id' is BIGINT NOT NULL"),
        ({"v": lambda rows: rows}, None, InvalidInputError, "'v': expected an Arrow array of 10 values"),
        ({}, None, InvalidInputError, "no column is given"),
    ],
)
@pytest.mark.parametrize("options", [{}, MARKS])
def test_what_does_not_fit_is_named_and_leaves_nothing(
    options: dict[str, str], values: dict[str, Any], where: str | None, error: type[TableFormatError], names: str
) -> None:
    warehouse = memory_warehouse()
    table = warehouse.table(options=options)
    table.append(keyed([(i, "a", i) for i in range(10)]))
    before = warehouse.files(table)
    with pytest.raises(error, match=names):
        table.update(values, where)
    assert warehouse.files(table) == before


@pytest.mark.parametrize(
    ("options", "call", "names"),
    [
        ({}, lambda t: t.update({"id": "id + 1"}), "id of the primary key"),
        ({}, lambda t: merge(t, Update({"id": "s.id"})), "id of the primary key"),
        ({}, lambda t: t.merge(keyed([]), "v", when_matched=Update()), "id of the primary key"),
        ({"merge-engine": "first-row"}, lambda t: t.update({"v": 1}), "merge-engine=first-row cannot update"),
        ({"merge-engine": "aggregation"}, lambda t: t.update({"v": 1}), "merge-engine=aggregation cannot update"),
        ({"merge-engine": "aggregation"}, lambda t: merge(t, Update()), "merge-engine=aggregation cannot update"),
        ({"merge-engine": "first-row"}, lambda t: t.delete("id = 1"), "rows cannot be deleted"),
        ({"merge-engine": "partial-update"}, lambda t: merge(t, Delete()), "rows cannot be deleted"),
        ({"ignore-delete": "true"}, lambda t: merge(t, Delete()), "drops -D rows"),
        ({"rowkind.field": "dt"}, lambda t: t.update({"dt": "'-D'"}), "'dt' holds the kind"),
        (
            {
                "merge-engine": "partial-update",
                "fields.dt.sequence-group": "v",
                "fields.v.aggregate-function": "sum",
            },
            lambda t: t.update({"dt": "'z'"}),
            "sum of column 'v'",
        ),
    ],
)
def test_what_a_primary_key_table_cannot_do_is_refused_by_name(
    options: dict[str, str], call: Callable[[Table], object], names: str
) -> None:
    table = memory_warehouse().table(primary_keys=["id"], options=options)
    with pytest.raises(UnsupportedFeature, match=names):
        call(table)
    assert table.snapshots() == ()


def merge(table: Table, *clauses: Update | Delete) -> RowChanges:
    return table.merge(keyed([(1, "a", 1)]), {"id": "id"}, when_matched=clauses)


# --- MERGE ------------------------------------------------------------------------------------------------------------

KINDS: list[tuple[list[str], dict[str, str]]] = [([], {}), ([], MARKS), (["id"], {}), (["id"], MARKS)]


@pytest.mark.parametrize(("keys", "options"), KINDS)
def test_the_first_clause_that_holds_decides(keys: list[str], options: dict[str, str]) -> None:
    table = filled(options, primary_keys=keys)
    source = keyed([(i, "s", i * 10) for i in (1, 2, 3, 4, 40, 41, 42)])
    result = table.merge(
        source,
        "id",
        when_matched=[Update({"v": "source.v"}, "t.id = 1"), Delete("t.id < 3"), Update({"dt": "'late'"}, "s.v = 40")],
        when_not_matched=[Insert(condition="id = 40"), Insert({"id": "id", "v": "id + v"}, "v >= 420")],
    )
    assert (result.inserted, result.updated, result.deleted) == (2, 2, 1)
    changed = [row for row in rows_of(table) if row[0] in (1, 2, 3, 4) or row[0] > 29]
    assert changed == [(1, "b", 10), (3, "b", 3), (4, "late", 4), (40, "s", 400), (42, None, 462)]
    assert len(rows_of(table)) == 31


@pytest.mark.parametrize(("keys", "options"), KINDS)
def test_clauses_without_columns_take_those_of_the_source(keys: list[str], options: dict[str, str]) -> None:
    table = filled(options, primary_keys=keys)
    source = keyed([(1, "s", 10), (40, "s", 400)])
    result = table.merge(source, "id", when_matched=Update(), when_not_matched=Insert())
    assert (result.inserted, result.updated) == (1, 1)
    assert [row for row in rows_of(table) if row[0] in (1, 40)] == [(1, "s", 10), (40, "s", 400)]


@pytest.mark.parametrize(("keys", "options"), KINDS)
def test_rows_that_the_source_lacks_have_clauses_of_their_own(keys: list[str], options: dict[str, str]) -> None:
    table = filled(options, primary_keys=keys)
    source = keyed([(i, "s", i) for i in range(5, 40)])
    gone = [Delete("id < 3"), Update({"v": lambda rows: pa.array([-v for v in rows.column("v").to_pylist()])})]
    result = table.merge(source, "id", when_not_matched_by_source=gone)
    assert (result.inserted, result.updated, result.deleted) == (0, 2, 3)
    assert sums(table) == {3: -3, 4: -4, **{i: i for i in range(5, 30)}}


@pytest.mark.parametrize(("keys", "options"), KINDS)
def test_rows_of_writers_that_ignore_lengths_can_be_changed(keys: list[str], options: dict[str, str]) -> None:
    fields = (
        DataField(0, "id", BigIntType(nullable=False)),
        DataField(1, "t", VarCharType(3)),
        DataField(2, "v", IntType()),
    )
    options = {"bucket": "1", **options} if keys else options
    table = memory_warehouse().catalog.create_table("db.t", Schema(fields, primary_keys=keys, options=options))
    longer = pa.table({"id": [1, 2, 3], "t": ["longer"] * 3, "v": pa.array([1, 2, 3], pa.int32())})
    messages = TableWrite(table.current_facts, check_lengths=False).write(longer)
    table.new_commit("w").commit(messages, identifier=1)
    table.delete("id = 1")
    table.update({"v": "v + 10"}, "id = 2")
    source = pa.table({"id": [3, 4], "v": pa.array([30, 40], pa.int32())})
    table.merge(
        source,
        "id",
        when_matched=Update({"v": "source.v"}),
        when_not_matched=Insert({"id": "id", "t": "'new'", "v": "v"}),
    )
    assert rows_of(table) == [(2, "longer", 12), (3, "longer", 30), (4, "new", 40)]
    calls: list[Callable[[], object]] = [
        lambda: table.update({"t": "'more'"}),
        lambda: table.update({"t": "t"}, "id = 2"),
        lambda: table.update({"t": lambda rows: pa.array(["more"] * rows.num_rows)}),
        lambda: table.merge(source, "id", when_matched=Update({"t": "'more'"})),
        lambda: table.merge(source, "id", when_not_matched_by_source=Update({"t": "t"})),
        lambda: table.merge(
            source.set_column(0, "id", [[8, 9]]), "id", when_not_matched=Insert({"id": "id", "t": "'more'"})
        ),
        lambda: table.append(longer),
    ]
    for call in calls:
        with pytest.raises(InvalidData, match=r"VARCHAR\(3\)"):
            call()


@pytest.mark.parametrize(("keys", "options"), KINDS)
def test_a_row_that_several_rows_match_is_an_error_with_its_key(keys: list[str], options: dict[str, str]) -> None:
    table = filled(options, primary_keys=keys)
    before = table.snapshots()
    twice = keyed([(7, "s", 1), (7, "s", 2), (50, "s", 1), (50, "s", 1)])
    with pytest.raises(InvalidData, match="2 rows of the source match the row with id = 7"):
        table.merge(twice, "id", when_matched=Delete("source.v > 100"))
    assert table.snapshots() == before
    if not keys:
        # Nothing is decided about a matched row, and twice what matches none is twice new.
        assert table.merge(twice, "id", when_not_matched=Insert()).inserted == 2


def test_nulls_match_nothing() -> None:
    table = memory_warehouse().table()
    table.append(keyed([(1, None, 1), (2, "x", None)]))  # type: ignore[list-item]
    source = keyed([(1, None, 10), (2, "x", 20)])  # type: ignore[list-item]
    result = table.merge(source, ["id", "dt"], when_matched=Update(), when_not_matched=Insert())
    assert (result.inserted, result.updated) == (1, 1)
    assert rows_of(table) == [(1, None, 1), (1, None, 10), (2, "x", 20)]


@pytest.mark.parametrize("column", ["n", "s", "b", "d", "at"])
def test_many_keys_of_any_type_find_their_rows(column: str) -> None:
    numbers = range(300)
    types = {
        "n": ("int64", list(numbers)),
        "s": ("string", [f"key {i}" for i in numbers]),
        "b": ("binary", [b"key %d" % i for i in numbers]),
        "d": (pa.decimal128(10, 2), [Decimal(i) / 4 for i in numbers]),
        "at": (
            pa.timestamp("ns"),
            [datetime(2024, 1, 1, 0, i % 60, i) if i < 60 else datetime(2024, 1, 2, i // 60, i % 60) for i in numbers],
        ),
    }
    data = pa.table(
        {"v": pa.array(numbers, pa.int64()), **{n: pa.array(values, t) for n, (t, values) in types.items()}}
    )
    table = memory_warehouse().table(schema=data.schema, options=MARKS)
    table.append(data)
    source = pa.table({"key": data.column(column), "v": data.column("v")}).slice(100, 150)
    result = table.merge(source, {column: "key"}, when_matched=Update({"v": "t.v + s.v"}, "s.v >= 200"))
    assert result.updated == 50
    found = table.scan(columns=["v"]).to_arrow().column("v").to_pylist()
    assert sorted(found) == sorted(i * 2 if 200 <= i < 250 else i for i in numbers)


def test_a_source_may_be_a_stream_and_its_text_a_dictionary(memory: Warehouse) -> None:
    table = filled()
    rows = keyed([(1, "s", 10), (40, "s", 400)])
    at = rows.schema.get_field_index("dt")
    source = rows.set_column(at, "dt", rows.column("dt").dictionary_encode()).to_reader()
    table.merge(source, "id", when_matched=Update(), when_not_matched=Insert())
    assert [row for row in rows_of(table) if row[1] == "s"] == [(1, "s", 10), (40, "s", 400)]


@pytest.mark.parametrize(
    ("arguments", "error", "names"),
    [
        ({"on": "nope", "when_matched": Delete()}, ColumnNotFound, "'nope' to merge on"),
        ({"on": {"id": "nope"}, "when_matched": Delete()}, ColumnNotFound, "source has no column nope"),
        ({"on": "id", "when_matched": Update({"v": "v"})}, InvalidExpression, "in target and source; qualify it"),
        ({"on": "id", "when_matched": Delete("source.v")}, InvalidExpression, "a condition"),
        ({"on": "id", "when_not_matched": Insert({"v": "target.v"})}, InvalidExpression, "target.v"),
        ({"on": "id", "when_not_matched_by_source": Update({"v": "source.v"})}, InvalidExpression, "source.v"),
        ({"on": "id", "when_not_matched_by_source": Update()}, InvalidInputError, "no column is given"),
        ({"on": "id"}, InvalidInputError, "no clause"),
        ({"on": [], "when_matched": Delete()}, InvalidInputError, "at least one column to join on"),
    ],
)
def test_a_merge_that_means_nothing_is_refused(
    arguments: dict[str, Any], error: type[TableFormatError], names: str
) -> None:
    with pytest.raises(error, match=names):
        filled().merge(keyed([(1, "a", 1)]), **arguments)


# --- other commits ----------------------------------------------------------------------------------------------------


def interfered(table: Table, work: Callable[[], object], times: int) -> Callable[[pa.Table], pa.Array]:
    """``v + 1`` as a function that lets another commit pass by, so many times."""
    left = iter(range(times))

    def plus_one(rows: pa.Table) -> pa.Array:
        if next(left, None) is not None:
            work()
        return pa.array([v + 1 for v in rows.column("v").to_pylist()])

    return plus_one


@pytest.mark.parametrize("options", [{}, MARKS])
@pytest.mark.parametrize("other", ["delete", "update", "overwrite"])
def test_work_that_met_another_commit_is_done_again(options: dict[str, str], other: str) -> None:
    warehouse = memory_warehouse()
    table = warehouse.table(options=options)
    table.append(keyed([(i, "a", i) for i in range(10)]))
    meanwhile = {
        "delete": lambda: table.delete("id = 3"),
        "update": lambda: table.update({"v": "v + 10"}, "id = 4"),
        "overwrite": lambda: table.overwrite(keyed([(i, "a", i * 2) for i in range(10)])),
    }[other]
    expected = {
        "delete": {i: i + 1 for i in range(10) if i != 3},
        "update": {i: i + 11 if i == 4 else i + 1 for i in range(10)},
        "overwrite": {i: i * 2 + 1 for i in range(10)},
    }[other]
    result = table.update({"v": interfered(table, meanwhile, 1)})
    assert sums(table) == expected
    assert result.updated == len(expected)
    assert len(table.snapshots()) == 3


def test_a_compaction_of_the_same_files_loses_no_row() -> None:
    table = filled({"compaction.min.file-num": "2"})
    result = table.update({"v": interfered(table, lambda: table.compact(full=True), 1)}, "id < 15")
    assert result.updated == 15
    assert sums(table) == {i: i + 1 if i < 15 else i for i in range(30)}


@pytest.mark.parametrize("options", [{}, MARKS])
def test_work_that_meets_another_commit_each_time_is_given_up(options: dict[str, str]) -> None:
    warehouse = memory_warehouse()
    table = warehouse.table(options=options)
    table.append(keyed([(i, "a", i) for i in range(5)]))
    always = interfered(table, lambda: table.update({"v": "v + 10"}, "id = 4"), 1000)
    with pytest.raises(FileConflict, match=f"gave up after {MAX_ATTEMPTS} attempts"):
        table.update({"v": always})
    assert {**sums(table), 4: 4} == {i: i for i in range(5)}
    named = {file.file_name for file in live_data_files(table)}
    table.expire_snapshots(retain_max=1, retain_min=1, older_than_ms=2**62, retain_floor_ms=0)
    left = {path.rsplit("/", 1)[-1] for path in warehouse.files(table) if "bucket-0/" in path}
    assert left == named


def test_rows_appended_meanwhile_are_no_conflict() -> None:
    table = filled(MARKS)
    table.update({"v": interfered(table, lambda: table.append(keyed([(99, "z", 99)])), 1)}, "id = 5")
    assert sums(table) == {**{i: i for i in range(30)}, 5: 6, 99: 99}


@pytest.mark.parametrize(("keys", "options"), KINDS)
def test_a_user_and_an_identifier_land_once(keys: list[str], options: dict[str, str]) -> None:
    table = filled(options, primary_keys=keys)
    results = [
        table.update({"v": "v + 1"}, "id = 5", commit_user="job", identifier=1, properties={"run": "r1"})
        for _ in range(2)
    ]
    assert sums(table)[5] == 6
    assert results[0].snapshot is not None
    assert results[0].snapshot.properties == {"run": "r1"}
    assert results[1] == RowChanges()
    assert table.delete("id = 5", commit_user="job", identifier=1) == RowChanges()
    assert table.merge(keyed([]), "id", when_matched=Delete(), commit_user="job", identifier=1) == RowChanges()


@pytest.mark.parametrize(("keys", "options"), KINDS)
def test_a_statement_sees_the_latest_rows_whatever_is_read(keys: list[str], options: dict[str, str]) -> None:
    table = filled(options, primary_keys=keys)
    past = table.copy({"scan.snapshot-id": "1"})
    assert past.delete("id >= 5").deleted == 25
    assert past.update({"v": "v + 1"}, "id >= 3").updated == 2
    assert sums(table) == {0: 0, 1: 1, 2: 2, 3: 4, 4: 5}


# --- primary key tables -----------------------------------------------------------------------------------------------


def test_an_update_of_the_sequence_decides_who_wins() -> None:
    table = memory_warehouse().table(primary_keys=["id"], options={"sequence.field": "v"})
    table.append(keyed([(1, "a", 10), (2, "b", 20), (3, "c", 30)]))
    table.update({"dt": "'same'"}, "id = 1")
    table.update({"dt": "'higher'", "v": "v + 1"}, "id = 2")
    result = table.update({"dt": "'lower'", "v": "v - 1"}, "id = 3")
    assert rows_of(table) == [(1, "same", 10), (2, "higher", 21), (3, "c", 30)]
    assert result.updated == 1


@pytest.mark.parametrize("options", [{}, {"sequence.field": "v"}])
def test_an_input_changelog_shows_rows_as_they_were_and_as_they_are(options: dict[str, str]) -> None:
    table = memory_warehouse().table(
        primary_keys=["id"], options={"bucket": "1", "changelog-producer": "input", **options}
    )
    table.append(keyed([(1, "a", 1), (2, "b", 2)]))
    table.update({"dt": "'x'"}, "id = 1")
    table.merge(keyed([(2, "s", 5), (3, "s", 6)]), "id", when_matched=Delete(), when_not_matched=Insert())
    table.update({"v": "v - 1"}, "id = 3")
    stream = table.stream(options={"scan.mode": "from-snapshot", "scan.snapshot-id": "2"})
    changes = []
    while (plan := stream.next_plan()) is not None:
        changes += [tuple(row.values()) for row in stream.to_arrow(plan).to_pylist()]
    lowered = [("+U", 3, "s", 5)] if options else [("-U", 3, "s", 6), ("+U", 3, "s", 5)]
    assert changes == [("-U", 1, "a", 1), ("+U", 1, "x", 1), ("-D", 2, "b", 2), ("+I", 3, "s", 6), *lowered]
    assert rows_of(table) == [(1, "x", 1), (3, "s", 6 if options else 5)]


def test_a_partial_update_takes_values_and_no_nulls() -> None:
    table = memory_warehouse().table(primary_keys=["id"], options={"merge-engine": "partial-update"})
    table.append(keyed([(1, "a", 1), (2, "b", 2)]))
    table.update({"v": "v * 10", "dt": None}, "id = 1")
    assert rows_of(table) == [(1, "a", 10), (2, "b", 2)]


def test_deletes_that_are_ignored_do_not_hinder_updates() -> None:
    table = memory_warehouse().table(
        primary_keys=["id"], options={"ignore-delete": "true", "changelog-producer": "input"}
    )
    table.append(keyed([(1, "a", 1), (2, "b", 2)]))
    table.update({"v": "v * 10"})
    assert sums(table) == {1: 10, 2: 20}


@pytest.mark.parametrize("producer", ["none", "input"])
def test_a_row_keeps_what_it_says_of_its_kind(producer: str) -> None:
    table = memory_warehouse().table(
        primary_keys=["id"], options={"rowkind.field": "dt", "changelog-producer": producer}
    )
    table.append(keyed([(1, "+I", 1), (2, "+U", 2)]))
    table.update({"v": "v * 10"})
    table.merge(keyed([(2, "+I", 0), (3, "+I", 3)]), "id", when_matched=Delete(), when_not_matched=Insert())
    assert rows_of(table) == [(1, "+I", 10), (3, "+I", 3)]


def test_a_column_where_row_kinds_stand_is_refused_rather_than_overwritten() -> None:
    warehouse = memory_warehouse()
    table = warehouse.table(primary_keys=["id"])
    path = table.store.paths.schema(table.schema.id)
    warehouse.io.overwrite(path, warehouse.io.read(path).replace(b'"dt"', b'"_row_kind"'))
    foreign = warehouse.reopened(table)
    for call in (lambda: foreign.delete("id = 1"), lambda: foreign.update({"_row_kind": "'x'"})):
        with pytest.raises(UnsupportedFeature, match="'_row_kind'"):
            call()


@pytest.mark.parametrize("options", [{}, MARKS, {**BUCKETED, **MARKS}])
def test_no_update_of_an_append_table_is_lost(options: dict[str, str]) -> None:
    table = memory_warehouse().table(options=options)
    table.append(keyed([(i, "a", 0) for i in range(4)]))

    def add() -> None:
        for _ in range(2):
            table.update({"v": "v + 1"})

    # Each of the six commits of the others can be in the way once: fewer than there are attempts.
    with ThreadPoolExecutor(4) as pool:
        for work in [pool.submit(add) for _ in range(4)]:
            work.result()
    assert sums(table) == dict.fromkeys(range(4), 8)


@pytest.mark.parametrize("options", [{}, MARKS])
def test_a_null_in_a_row_that_an_update_writes_becomes_the_default_value(
    memory: Warehouse, options: dict[str, str]
) -> None:
    table = memory.table(options=options)
    table.append(keyed([(1, "a", 1), (2, "a", None), (3, None, 3)]))
    altered = memory.catalog.alter_table(
        str(table.identifier), [SetColumnDefault(("dt",), "'d'"), SetColumnDefault(("v",), "5")]
    )
    altered.update({"dt": "NULL"}, "id < 3")
    # The row that the statement does not change keeps its null.
    assert sorted(rows_of(altered), key=repr) == [(1, "d", 1), (2, "d", 5), (3, None, 3)]
