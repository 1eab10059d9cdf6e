"""UPDATE, DELETE and MERGE as Spark jobs, on tables with and without a primary key."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from table_format import Delete, Insert, Update, col
from table_format.errors import ColumnNotFound, InvalidData, InvalidInputError, UnsupportedFeature
from table_format.model.schema_change import AddColumn, AlterColumnType, RenameColumn
from table_format.model.types import BigIntType, IntType
from table_format.spark.dml import statements
from table_format.spark.dml.target import TargetScan, latest_target, target_frame
from tests.queries.bounds import WRITTEN_IN_DRIVER, bounds_of
from tests.queries.sessions import settings_of
from tests.spark.lakes import TestLake
from tests.support.matrix import MATRIX

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

ROWS = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string()), ("n", pa.int32())])
DDL = "id long, v string, n int"
MARKS = {"deletion-vectors.enabled": "true"}

KINDS: list[Any] = [
    pytest.param((), {}, id="append"),
    pytest.param((), MARKS, id="append with deletion vectors"),
    pytest.param((), {"bucket": "2", "bucket-key": "id", **MARKS}, id="buckets with deletion vectors"),
    pytest.param(("id",), {}, id="primary key"),
    pytest.param(("id",), {"bucket": "-1"}, id="primary key with dynamic buckets"),
]


WRITERS: dict[str, dict[str, int]] = {"written in the driver": {}, "written by tasks": {WRITTEN_IN_DRIVER: 0}}
"""Few rows, as in all tests, are written in the driver; some tests also write them as many rows are."""


@pytest.fixture(params=WRITERS)
def each_writer(request: pytest.FixtureRequest) -> Iterator[None]:
    with bounds_of(WRITERS[request.param]):
        yield


def filled(lake: TestLake, keys: tuple[str, ...], options: dict[str, str], rows: Any = None) -> TestLake:
    lake.create(schema=ROWS, primary_keys=keys, **options)
    given = rows if rows is not None else [(i, f"v{i}", i * 10) for i in range(6)]
    lake.append(given[: len(given) // 2])
    lake.append(given[len(given) // 2 :])
    return lake


@pytest.mark.parametrize("writer", WRITERS if MATRIX else ["written by tasks"])
@pytest.mark.parametrize(("keys", "options"), KINDS)
def test_rows_are_deleted_updated_and_merged(
    lake: TestLake, keys: tuple[str, ...], options: dict[str, str], writer: str
) -> None:
    filled(lake, keys, options)
    with bounds_of(WRITERS[writer]):
        change(lake)
    last = [(7, "s7", 5)] if keys else [(7, "s7", 4), (7, "s7", 5)]
    assert lake.rows() == [(0, "s0", 1), (3, "left", 31), (5, "v5+", 54), *last]


def change(lake: TestLake) -> None:
    assert lake.lake.delete("s.t", "id = 1 OR v = 'v4'").deleted == 2
    assert lake.lake.update("s.t", {"n": "n + 1", "v": "concat(v, '+')"}, "id >= 3").updated == 2
    source = lake.frame([(0, "s0", 1), (2, "gone", 2), (5, "s5", 3), (7, "s7", 4), (7, "s7", 5)], DDL)
    changed = lake.lake.merge(
        "s.t",
        source,
        on="t.id = s.id",
        when_matched=[Delete("s.v = 'gone'"), Update({"n": "t.n + s.n"}, "s.n > 1"), Update()],
        when_not_matched=Insert(),
        when_not_matched_by_source=Update({"v": "'left'"}),
    )
    assert (changed.inserted, changed.updated, changed.deleted) == (2, 3, 1)


@pytest.mark.parametrize(("keys", "options"), [KINDS[0], KINDS[3]] if MATRIX else [KINDS[3]])
def test_a_condition_built_with_col_selects_the_same_rows_as_its_text(
    lake: TestLake, keys: tuple[str, ...], options: dict[str, str]
) -> None:
    filled(lake, keys, options)
    condition = (col("n") > 10) & col("v").is_in(["v2", "v3", "v9"])
    for selected in (condition, repr(condition)):
        assert sorted(row.id for row in lake.lake.table("s.t", filter=selected).collect()) == [2, 3]
        assert lake.lake.count("s.t", filter=selected) == 2
    assert lake.lake.delete("s.t", condition & (col("id") == 2)).deleted == 1
    assert lake.lake.update("s.t", {"n": "n + 1"}, col("v").starts_with("v3") | col("n").is_null()).updated == 1
    assert lake.rows() == [(0, "v0", 0), (1, "v1", 10), (3, "v3", 31), (4, "v4", 40), (5, "v5", 50)]
    with pytest.raises(ColumnNotFound, match="column 'x' of the filter does not exist"):
        lake.lake.delete("s.t", col("x") == 1)


@pytest.mark.parametrize(("keys", "options"), [KINDS[0], KINDS[1], KINDS[3]] if MATRIX else [KINDS[1], KINDS[3]])
def test_two_source_rows_for_one_table_row_are_refused_without_a_change(
    lake: TestLake, keys: tuple[str, ...], options: dict[str, str]
) -> None:
    filled(lake, keys, options)
    files, snapshot = lake.files(), lake.table().facts.snapshots.latest_id()
    source = lake.frame([(3, "a", 1), (3, "b", 2), (9, "new", 3)], DDL)
    with pytest.raises(InvalidData, match=r"2 rows of the source match the row with id = 3"):
        # The condition is true for only one of them.
        lake.lake.merge(
            "s.t", source, on="t.id = s.id", when_matched=Update(condition="s.v = 'a'"), when_not_matched=Insert()
        )
    assert (lake.files(), lake.table().facts.snapshots.latest_id()) == (files, snapshot)
    # Without a clause for matched rows, nothing is ambiguous.
    assert lake.lake.merge("s.t", source, on="t.id = s.id", when_not_matched=Insert()).inserted == 1


@pytest.mark.parametrize(("keys", "options"), [KINDS[0], KINDS[3]] if MATRIX else [KINDS[0]])
def test_a_number_that_does_not_fit_its_column_is_refused_without_a_change(
    lake: TestLake, keys: tuple[str, ...], options: dict[str, str]
) -> None:
    filled(lake, keys, options)
    files, snapshot = lake.files(), lake.table().facts.snapshots.latest_id()
    with pytest.raises(InvalidData, match=r"column 'n' is INT, which cannot hold 5000000030"):
        lake.lake.update("s.t", {"n": "n + 5000000000"}, "id = 3")
    source = lake.spark.sql("SELECT 3L AS id, 'x' AS v, 3e10D AS n")
    with pytest.raises(InvalidData, match=r"column 'n' is INT, which cannot hold 3\.0E10"):
        lake.lake.merge("s.t", source, on="t.id = s.id", when_matched=Update())
    with pytest.raises(InvalidData, match="a value of type string cannot be stored in it without a cast"):
        lake.lake.update("s.t", {"n": "'7'"})
    assert (lake.files(), lake.table().facts.snapshots.latest_id()) == (files, snapshot)
    # Fractions are truncated by store assignment, and numbers become strings.
    assert lake.lake.update("s.t", {"n": "n + 0.9D", "v": "id"}, "id = 3").updated == 1
    assert (3, "3", 30) in lake.rows()


def test_a_null_is_not_unequal_to_a_value(lake: TestLake) -> None:
    filled(lake, (), {}, [(1, "v", 1), (2, None, 2), (3, "w", 3), (4, None, 4)])
    assert lake.lake.delete("s.t", "v <> 'v'").deleted == 1
    assert lake.rows() == [(1, "v", 1), (2, None, 2), (4, None, 4)]


def test_assigning_a_key_column_is_refused(lake: TestLake) -> None:
    filled(lake, ("id",), {})
    with pytest.raises(UnsupportedFeature, match="id of the primary key cannot be assigned"):
        lake.lake.update("s.t", {"ID": "id + 10"})
    source = lake.frame([(3, "s", 1)], DDL)
    with pytest.raises(UnsupportedFeature, match="id of the primary key cannot be assigned"):
        lake.lake.merge("s.t", source, on="t.id = s.id", when_matched=Update({"id": "s.id + 10"}))
    with pytest.raises(UnsupportedFeature, match="id of the primary key cannot be assigned"):
        lake.lake.merge("s.t", source, on="t.n = s.n", when_matched=Update())
    # Assigning a key its own value changes nothing.
    for same in ("s.id", "t.id", "`t`.`ID`"):
        on = "(t.id = s.id) AND t.n > 0"
        assert lake.lake.merge("s.t", source, on=on, when_matched=Update({"id": same, "v": "s.v"})).updated == 1
    other = source.withColumnRenamed("id", "key")
    assert lake.lake.merge("s.t", other, on="key = t.id", when_matched=Update({"id": "key"})).updated == 1
    assert (3, "s", 30) in lake.rows()


def test_a_merge_does_not_move_rows_of_a_cross_partition_table(lake: TestLake) -> None:
    schema = pa.schema([*ROWS, ("p", pa.string())])
    lake.create(schema=schema, partition_keys=("p",), bucket="-1")
    lake.append([(1, "v", 1, "a"), (2, "v", 2, "a")])
    source = lake.frame([(1, "b")], "id long, p string")
    with pytest.raises(UnsupportedFeature, match="p of the partition cannot be assigned"):
        lake.lake.merge("s.t", source, on="id", when_matched=Update({"p": "s.p"}))
    assert lake.lake.merge("s.t", source, on="id", when_matched=Update({"n": "t.n + 1"})).updated == 1
    assert lake.lake.update("s.t", {"p": "'b'"}, "id = 2").updated == 1
    assert lake.rows() == [(1, "v", 2, "a"), (2, "v", 2, "b")]


@pytest.mark.parametrize(
    ("engine", "refused"),
    [("first-row", "first-row"), ("partial-update", "remove-record-on-delete"), ("aggregation", "remove-record")],
)
def test_delete_is_refused_if_the_merge_engine_cannot_delete(lake: TestLake, engine: str, refused: str) -> None:
    filled(lake, ("id",), {"merge-engine": engine})
    with pytest.raises(UnsupportedFeature, match=refused):
        lake.lake.delete("s.t", "id = 1")
    source = lake.frame([(1, "s", 1)], DDL)
    with pytest.raises(UnsupportedFeature, match=engine):
        lake.lake.merge("s.t", source, on="id", when_matched=Delete())
    if engine != "partial-update":
        with pytest.raises(UnsupportedFeature, match=f"{engine} cannot update rows"):
            lake.lake.update("s.t", {"v": "'x'"})
    assert len(lake.rows()) == 6


def test_setting_null_in_a_partial_update_table_gives_a_warning(lake: TestLake) -> None:
    filled(lake, ("id",), {"merge-engine": "partial-update"})
    with pytest.warns(UserWarning, match="2 rows were set to null, which merge-engine=partial-update treats as no"):
        lake.lake.update("s.t", {"v": "NULL"}, "id < 2")
    assert lake.rows()[:2] == [(0, "v0", 0), (1, "v1", 10)]


def test_an_update_that_lowers_the_sequence_field_gives_a_warning(lake: TestLake) -> None:
    filled(lake, ("id",), {"sequence.field": "n"})
    with pytest.warns(UserWarning, match=r"1 row was given a lower sequence\.field than before"):
        lake.lake.update("s.t", {"n": "IF(id = 1, n - 1, n + 1)"}, "id < 3")
    assert lake.rows()[:3] == [(0, "v0", 1), (1, "v1", 10), (2, "v2", 21)]


@pytest.mark.parametrize(("keys", "options"), [KINDS[1], KINDS[3]] if MATRIX else [KINDS[1]])
def test_conditions_and_values_may_contain_subqueries(
    lake: TestLake, keys: tuple[str, ...], options: dict[str, str]
) -> None:
    filled(lake, keys, options)
    lake.frame([(1, "x", 100), (2, "y", 200)], DDL).createOrReplaceTempView("others")
    assert lake.lake.update("s.t", {"n": "(SELECT max(n) FROM others)"}, "id IN (SELECT id FROM others)").updated == 2
    where = "EXISTS (SELECT 1 FROM others o WHERE o.id + 2 = x.id)"
    assert lake.lake.update("s.t", {"v": "upper(x.v)"}, where, alias="x").updated == 2
    assert lake.lake.delete("s.t", "t.id > (SELECT max(id) + 2 FROM others)").deleted == 1
    source = lake.frame([(0, "s", 0), (1, "s", 0)], DDL)
    merged = lake.lake.merge(
        "s.t", source, on="id", when_matched=Update({"v": "s.v"}, "t.id IN (SELECT id FROM others)")
    )
    assert merged.updated == 1
    assert lake.rows() == [(0, "v0", 0), (1, "s", 200), (2, "v2", 200), (3, "V3", 30), (4, "V4", 40)]


def test_clauses_with_aliases_and_with_spark_columns(lake: TestLake) -> None:
    filled(lake, ("id",), {})
    source = lake.frame([(1, "x", 5), (9, "y", 6)], "key long, v string, n int")
    lake.lake.merge(
        "s.t",
        source,
        on={"id": "key"},
        when_matched=Update({"v": F.concat(F.col("target.v"), F.col("source.v")), "n": 7}, "target.id = source.key"),
        when_not_matched=Insert({"id": "key", "v": "v"}),
    )
    assert (
        lake.lake.merge(
            "s.t", source, "o.id = c.key", when_matched=Update({"n": "c.n"}), target_alias="o", source_alias="c"
        ).updated
        == 2
    )
    assert [row for row in lake.rows() if row[0] in (1, 9)] == [(1, "v1x", 5), (9, "y", 6)]


@pytest.mark.parametrize(("keys", "options"), [KINDS[0], KINDS[1], KINDS[3], KINDS[4]])
def test_a_statement_is_repeated_after_a_concurrent_commit(
    lake: TestLake, monkeypatch: pytest.MonkeyPatch, keys: tuple[str, ...], options: dict[str, str]
) -> None:
    filled(lake, keys, options)
    write = statements._written
    others = iter([1, 2])

    def written(*arguments: Any) -> Any:
        messages = write(*arguments)
        if (number := next(others, None)) is not None:
            lake.table().update({"n": f"n + {number}"}, "id = 3")
        return messages

    monkeypatch.setattr(statements, "_written", written)
    assert lake.lake.update("s.t", {"n": "n + 100"}, "id >= 2").updated == 4
    assert lake.rows()[2:] == [(2, "v2", 120), (3, "v3", 133), (4, "v4", 140), (5, "v5", 150)]
    assert lake.table().verify().errors == ()


def test_a_repeated_statement_takes_effect_once(lake: TestLake) -> None:
    filled(lake, (), MARKS)
    for _ in range(2):
        lake.lake.update("s.t", {"n": "n + 1"}, commit_user="me", identifier=7)
    assert [row[2] for row in lake.rows()] == [1, 11, 21, 31, 41, 51]


def test_a_statement_without_changes_makes_no_commit(lake: TestLake) -> None:
    filled(lake, ("id",), {})
    assert lake.lake.delete("s.t", "id = 77").snapshots == ()
    empty = lake.frame([], DDL)
    assert lake.lake.merge("s.t", empty, on="id", when_matched=Delete(), when_not_matched=Insert()).snapshots == ()
    with pytest.raises(InvalidInputError, match="no clause is given"):
        lake.lake.merge("s.t", empty, on="id")


def test_a_merge_into_an_empty_table_inserts_rows(lake: TestLake) -> None:
    for name, keys in (("t", ()), ("u", ("id",))):
        lake.create(name, schema=ROWS, primary_keys=keys)
        source = lake.frame([(1, "a", 1), (1, "b", 2)], DDL)
        merged = lake.lake.merge(f"s.{name}", source, on="id", when_matched=Update(), when_not_matched=Insert())
        assert merged.inserted == 2
        assert len(lake.rows(name)) == 2 - len(keys)


def test_an_updated_row_moves_to_its_new_partition_and_other_rows_keep_their_order(lake: TestLake) -> None:
    schema = pa.schema([*ROWS, ("p", pa.string())])
    lake.create(schema=schema, primary_keys=(), partition_keys=("p",))
    lake.append([(i, f"v{i}", i, "ab"[i % 2]) for i in range(8)])
    assert lake.lake.update("s.t", {"p": "'b'"}, "id IN (2, 4)").updated == 2
    assert lake.lake.update("s.t", {"n": "-n"}, "p = 'a' OR id = 5").updated == 3
    assert [row[0] for row in lake.rows(filter="p = 'b'")] == [1, 2, 3, 4, 5, 7]
    assert lake.table().scan(filter="p = 'a'").to_arrow()["n"].to_pylist() == [0, -6]


@pytest.mark.parametrize("options", [{"file.format": "orc"}, {"file.format": "avro", **MARKS}], ids=str)
def test_statements_change_files_that_spark_cannot_read(lake: TestLake, options: dict[str, str]) -> None:
    filled(lake, (), options)
    assert lake.lake.delete("s.t", "id = 0").deleted == 1
    assert lake.lake.update("s.t", {"n": "n + 1"}, "id < 4").updated == 3
    assert lake.lake.delete("s.t", "n = 11").deleted == 1
    assert lake.rows() == [(2, "v2", 21), (3, "v3", 31), (4, "v4", 40), (5, "v5", 50)]


@pytest.mark.parametrize("options", [{}, MARKS], ids=str)
def test_columns_with_unusual_names_and_files_with_older_schemas(lake: TestLake, options: dict[str, str]) -> None:
    schema = pa.schema([("a.b", pa.int64()), ("c`d", pa.string()), ("n", pa.int32())])
    lake.create(schema=schema, primary_keys=(), **options)
    lake.table().append(pa.table({"a.b": [1, 2], "c`d": ["x", "y"], "n": [1, 2]}, schema=schema))
    changes = [AlterColumnType("n", BigIntType()), RenameColumn("c`d", "e f"), AddColumn("z", IntType())]
    lake.lake.catalog.alter_table("s.t", changes)
    assert lake.lake.update("s.t", {"n": "n + 5000000000", "z": "n"}, "`a.b` = 2").updated == 1
    assert lake.rows() == [(1, "x", 1, None), (2, "y", 5000000002, 2)]
    source = lake.frame([(1, "s", 1, 1)], "`a.b` long, `e f` string, n long, z int")
    assert lake.lake.merge("s.t", source, on="a.b", when_matched=Update()).updated == 1
    assert lake.rows()[0] == (1, "s", 1, 1)


@pytest.mark.usefixtures("each_writer")
def test_the_input_changelog_contains_the_old_rows(lake: TestLake) -> None:
    filled(lake, ("id",), {"changelog-producer": "input"})
    since = lake.table().facts.snapshots.latest_id()
    lake.lake.update("s.t", {"n": "n + 1"}, "id IN (1, 2)")
    lake.lake.delete("s.t", "id = 3")
    log = lake.lake.table(
        "s.t$audit_log", **{"incremental-between": f"{since},{since + 2}", "incremental-between-scan-mode": "changelog"}
    )
    assert sorted(tuple(row) for row in log.collect()) == [
        ("+U", 1, "v1", 11),
        ("+U", 2, "v2", 21),
        ("-D", 3, "v3", 30),
        ("-U", 1, "v1", 10),
        ("-U", 2, "v2", 20),
    ]


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_a_number_that_does_not_fit_within_a_nested_value_is_refused_whatever_the_ansi_mode(
    lake: TestLake, ansi: str
) -> None:
    lake.lake.sql(
        "CREATE TABLE s.t (id INT, r STRUCT<x: INT, y: STRING>, a ARRAY<TINYINT>, m MAP<INT, DECIMAL(4, 2)>);"
        "INSERT INTO s.t VALUES (1, named_struct('x', 1, 'y', 'a'), array(1), map(1, 1.5))"
    )
    with settings_of(lake.spark, {"spark.sql.ansi.enabled": ansi}):
        for values, message in (
            ({"r.x": "3000000000"}, r"'r\.x' is INT, which cannot hold 3000000000"),
            ({"r": "named_struct('x', 3e10D, 'y', 'a')"}, r"'r\.x' is INT, which cannot hold 3\.0E10"),
            ({"a": "array(1, 300)"}, r"'a\.element' is TINYINT, which cannot hold 300"),
            ({"m": "map(1, 123.4)"}, r"'m\.value' is DECIMAL\(4,2\), which cannot hold 123\.4"),
            ({"m": "map(3000000000, 1)"}, r"'m\.key' is INT, which cannot hold 3000000000"),
        ):
            with pytest.raises(InvalidData, match=f"table s.t: column {message}"):
                lake.lake.update("s.t", values)
        lake.lake.sql(
            "UPDATE s.t SET r = named_struct('Y', 7, 'X', 1.9), a = array(2L, NULL), m = map(2L, 2, 3L, NULL);"
            "MERGE INTO s.t USING (SELECT 2 AS id, NULL AS r, array(5L) AS a, map(1L, NULL) AS m) s ON t.id = s.id"
            " WHEN NOT MATCHED THEN INSERT *"
        )
    assert [tuple(row) for row in lake.lake.sql("SELECT * FROM s.t ORDER BY id").collect()] == [
        (1, (1, "7"), [2, None], {2: Decimal("2.00"), 3: None}),
        (2, None, [5], {1: None}),
    ]


@pytest.mark.usefixtures("each_writer")
def test_values_of_all_spark_types_are_preserved(lake: TestLake) -> None:
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            ("d", pa.decimal128(20, 4)),
            ("t", pa.timestamp("us")),
            ("z", pa.timestamp("us", tz="UTC")),
            ("b", pa.binary()),
            ("l", pa.list_(pa.int32())),
            ("m", pa.map_(pa.string(), pa.int64())),
            ("r", pa.struct([("x", pa.int32()), ("y", pa.string())])),
            ("f", pa.float32()),
            ("day", pa.date32()),
            ("n", pa.int32()),
        ]
    )
    rows = pa.Table.from_pylist(
        [
            {
                "id": i,
                "d": Decimal("1.2345") + i,
                "t": datetime(1582, 10, 5, 1, 2, 3, 456789),
                "b": b"\0\1",
                "z": datetime(2024, 3, 31, 1, 30, tzinfo=UTC),
                "l": [1, None],
                "m": [("k", i)],
                "r": {"x": i, "y": None},
                "f": float("nan"),
                "day": date(1, 1, 1),
                "n": 0,
            }
            for i in range(3)
        ],
        schema=schema,
    )
    for name, keys, options in (("t", (), {}), ("u", (), MARKS), ("w", ("id",), {})):
        lake.create(name, schema=schema, primary_keys=keys, **options)
        lake.table(name).append(rows)
        assert lake.lake.update(f"s.{name}", {"n": "n + 1", "day": date(1500, 2, 2)}, "id > 0").updated == 2
        found = lake.table(name).scan().to_arrow().sort_by("id")
        wanted = [
            {**row, "n": int(row["id"] > 0), "day": date(1500, 2, 2) if row["id"] else date(1, 1, 1)}
            for row in rows.to_pylist()
        ]
        assert repr(found.to_pylist()) == repr(wanted)
    lake.create("n", schema=pa.schema([("id", pa.int64()), ("t", pa.timestamp("ns"))]), primary_keys=())
    with pytest.raises(UnsupportedFeature, match="column 't' of type"):
        lake.lake.update("s.n", {"id": "1"})


def test_an_update_sets_one_field_of_a_row_and_keeps_the_others(lake: TestLake) -> None:
    row = pa.struct([("x", pa.int64()), ("y", pa.string())])
    lake.create(schema=pa.schema([pa.field("id", pa.int64(), nullable=False), ("r", row)]))
    lake.append([(1, {"x": 1, "y": "a"}), (2, {"x": 2, "y": "b"}), (3, None)])
    assert lake.lake.update("s.t", {"r.x": "r.x + 10", "R.y": "upper(r.y)"}, "id <> 2").updated == 2
    source = lake.frame([(2, 5)], "id long, x int")
    assert lake.lake.merge("s.t", source, on="id", when_matched=Update({"r.x": "t.r.x + s.x"})).updated == 1
    found = lake.table().scan().to_arrow().sort_by("id")["r"].to_pylist()
    assert found == [{"x": 11, "y": "A"}, {"x": 7, "y": "b"}, {"x": None, "y": None}]
    for column, message in (
        ("id.x", "column 'id' is BIGINT NOT NULL and has no field 'x'"),
        ("r.z", "column 'r' is ROW<.*> and has no field 'z'"),
        ("r.y.z", "column 'r.y' is STRING and has no field 'z'"),
    ):
        with pytest.raises(ColumnNotFound, match=message):
            lake.lake.update("s.t", {column: "1"})


def test_a_field_that_is_set_makes_a_row_of_a_null_as_in_paimon_and_spark(lake: TestLake) -> None:
    inner = pa.struct([("z", pa.list_(pa.int32())), ("w.w", pa.string())])
    row = pa.struct([("x", pa.int64()), ("y", inner)])
    lake.create(schema=pa.schema([pa.field("id", pa.int64(), nullable=False), ("r", row)]))
    lake.append([(1, None), (2, {"x": 2, "y": None}), (3, {"x": 3, "y": {"z": [1], "w.w": "a"}})])
    lake.lake.update("s.t", {"r.Y.`w.w`": "'new'"})
    new: dict[str, object] = {"z": None, "w.w": "new"}
    found = lake.table().scan().to_arrow().sort_by("id")["r"].to_pylist()
    assert found == [{"x": None, "y": new}, {"x": 2, "y": new}, {"x": 3, "y": {"z": [1], "w.w": "new"}}]
    source = lake.frame([(1, 5)], "id long, x int")
    lake.lake.merge("s.t", source, on="id", when_matched=Update({"r.x": "s.x", "r.y.z": "array(s.x)"}))
    found = lake.table().scan().to_arrow().sort_by("id")["r"].to_pylist()
    assert found[0] == {"x": 5, "y": {"z": [5], "w.w": "new"}}
    for twice in ({"r.x": "1", "R.X": "2"}, {"r.y": "NULL", "r.y.z": "NULL"}, {"r.y.z": "NULL", "r.y": "NULL"}):
        with pytest.raises(InvalidInputError, match=r"column 'r\.[xy]' is set twice"):
            lake.lake.update("s.t", twice)


def test_postponed_rows_get_their_bucket_before_they_are_changed(lake: TestLake) -> None:
    filled(lake, ("id",), {"bucket": "-2"})
    assert lake.lake.update("s.t", {"n": "n + 1"}, "id < 2").updated == 2
    lake.lake.compact("s.t")
    assert [row[2] for row in lake.rows()] == [1, 11, 20, 30, 40, 50]


def test_deletion_vectors_of_several_statements_are_combined(lake: TestLake) -> None:
    filled(lake, (), MARKS, [(i, "v", i) for i in range(100)])
    for start in range(0, 100, 30):
        lake.lake.delete("s.t", f"id >= {start} AND id < {start + 5}")
    assert [row[0] for row in lake.rows()] == sorted((i for i in range(100) if i % 30 >= 5), key=lambda i: repr((i,)))
    assert lake.table().verify(depth="rows").errors == ()


def test_a_condition_prunes_files(lake: TestLake) -> None:
    filled(lake, (), MARKS, [(i, "v", i) for i in range(10)])
    target = latest_target(lake.spark, lake.table().facts)
    assert target_frame(target).where("id = 7").select("n").collect() == [(7,)]
    (plan,) = target.plans
    assert [f.name for f in plan.fields] == ["id", "n"]
    assert len([file for split in plan.splits for file in split.files]) == 1


def test_a_merge_reads_only_files_that_may_contain_a_source_key(
    lake: TestLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.create(schema=ROWS, primary_keys=(), **MARKS)
    for first in range(0, 400, 100):
        lake.append([(i, "v", i) for i in range(first, first + 100)])
    targets: list[TargetScan] = []

    def noted(scan: TargetScan) -> Any:
        targets.append(scan)
        return target_frame(scan)

    monkeypatch.setattr(statements, "target_frame", noted)
    for keys in (range(300, 305), range(210, 350)):
        source = lake.frame([(i, "new", 0) for i in keys], DDL)
        assert lake.lake.merge("s.t", source, on="t.id = s.id", when_matched=Update()).updated == len(keys)
    assert [sum(len(split.files) for plan in scan.plans for split in plan.splits) for scan in targets] == [1, 3]
    assert sum(len(split.files) for split in lake.table().scan().plan().splits) == 6
