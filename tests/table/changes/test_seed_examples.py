"""The merge engine examples of the Paimon documentation, statement by statement, with the outputs printed there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest

from table_format.errors import InvalidOption, RetractNotSupported, UnsupportedFeature
from table_format.model.schema_change import RenameColumn
from tests.support.tables import Warehouse, memory_warehouse


@pytest.fixture
def memory() -> Warehouse:
    return memory_warehouse()


INT, BIGINT, DOUBLE, STRING = pa.int32(), pa.int64(), pa.float64(), pa.string()
N = None
SUB_ORDER = pa.struct([("sub_order_id", BIGINT), ("product_name", STRING), ("price", BIGINT)])


@dataclass(frozen=True)
class Example:
    """Columns (the first is the key), options, and statements: rows, with kinds if they say so, and what is read."""

    columns: list[tuple[str, pa.DataType]]
    options: dict[str, str]
    steps: list[tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]]

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([pa.field(n, t, nullable=at > 0) for at, (n, t) in enumerate(self.columns)])


def ints(names: str) -> list[tuple[str, pa.DataType]]:
    return [(name, INT) for name in names.split()]


EXAMPLES: dict[str, Example] = {
    "deduplicate": Example(ints("k v"), {}, [([(1, 1)], [(1, 1)]), ([(1, 2)], [(1, 2)]), ([("-D", 1, 2)], [])]),
    "deduplicate, deletes ignored": Example(
        ints("k v"), {"deduplicate.ignore-delete": "true"}, [([(1, 1)], [(1, 1)]), ([("-D", 1, 1)], [(1, 1)])]
    ),
    "sequence field": Example(
        ints("k s v"), {"sequence.field": "s"}, [([(1, 5, 50)], [(1, 5, 50)]), ([(1, 3, 30)], [(1, 5, 50)])]
    ),
    "partial update": Example(
        [("id", INT), ("price", DOUBLE), ("n", INT), ("text", STRING)],
        {"merge-engine": "partial-update"},
        [
            ([(1, 23.0, 10, N)], [(1, 23.0, 10, N)]),
            ([(1, N, N, "This is a book")], [(1, 23.0, 10, "This is a book")]),
            ([(1, 25.2, N, N)], [(1, 25.2, 10, "This is a book")]),
        ],
    ),
    "partial update in one statement": Example(
        [("id", INT), ("price", DOUBLE), ("n", INT), ("text", STRING)],
        {"merge-engine": "partial-update"},
        [
            (
                [(1, 23.0, 10, N), (1, N, N, "This is a book"), (1, 25.2, N, N)],
                [(1, 25.2, 10, "This is a book")],
            )
        ],
    ),
    "partial update, deletes remove": Example(
        ints("k v"),
        {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
        [([(1, 1), (2, 2)], [(1, 1), (2, 2)]), ([("-D", 1, 1)], [(2, 2)])],
    ),
    "partial update, deletes ignored": Example(
        ints("k v"),
        {"merge-engine": "partial-update", "partial-update.ignore-delete": "true"},
        [([(1, 1), (2, 2)], [(1, 1), (2, 2)]), ([("-D", 1, 1)], [(1, 1), (2, 2)])],
    ),
    "sequence groups": Example(
        ints("k a b g_1 c d g_2"),
        {
            "merge-engine": "partial-update",
            "fields.g_1.sequence-group": "a,b",
            "fields.g_2.sequence-group": "c,d",
        },
        [
            ([(1, 1, 1, 1, 1, 1, 1)], [(1, 1, 1, 1, 1, 1, 1)]),
            ([(1, 2, 2, 2, 2, 2, N)], [(1, 2, 2, 2, 1, 1, 1)]),
            ([(1, 3, 3, 1, 3, 3, 3)], [(1, 2, 2, 2, 3, 3, 3)]),
            ([(1, N, 4, 2, N, N, N)], [(1, N, 4, 2, 3, 3, 3)]),
            ([("-D", 1, 1, 1, 2, N, N, N)], [(1, N, N, 2, 3, 3, 3)]),
        ],
    ),
    "a group of two sequence fields": Example(
        ints("k a b g_1 c d g_2 g_3"),
        {
            "merge-engine": "partial-update",
            "fields.g_1.sequence-group": "a,b",
            "fields.g_2,g_3.sequence-group": "c,d",
        },
        [
            ([(1, 1, 1, 1, 1, 1, 1, 1)], [(1, 1, 1, 1, 1, 1, 1, 1)]),
            ([(1, 2, 2, 2, 2, 2, 1, N)], [(1, 2, 2, 2, 1, 1, 1, 1)]),
            ([(1, 3, 3, 1, 3, 3, 3, 1)], [(1, 2, 2, 2, 3, 3, 3, 1)]),
        ],
    ),
    "functions in sequence groups": Example(
        ints("k a b c d"),
        {
            "merge-engine": "partial-update",
            "fields.a.sequence-group": "b",
            "fields.b.aggregate-function": "first_value",
            "fields.c.sequence-group": "d",
            "fields.d.aggregate-function": "sum",
        },
        [
            ([(1, 1, 1, N, N)], [(1, 1, 1, N, N)]),
            ([(1, N, N, 1, 1)], [(1, 1, 1, 1, 1)]),
            ([(1, 2, 2, N, N)], [(1, 2, 1, 1, 1)]),
            ([(1, N, N, 2, 2)], [(1, 2, 1, 2, 3)]),
        ],
    ),
    "aggregation": Example(
        [("product_id", BIGINT), ("price", DOUBLE), ("sales", BIGINT)],
        {
            "merge-engine": "aggregation",
            "fields.price.aggregate-function": "max",
            "fields.sales.aggregate-function": "sum",
        },
        [([(1, 23.0, 15)], [(1, 23.0, 15)]), ([(1, 30.2, 20)], [(1, 30.2, 35)])],
    ),
    "aggregation without functions": Example(
        ints("k v"), {"merge-engine": "aggregation"}, [([(1, 5)], [(1, 5)]), ([(1, N)], [(1, 5)])]
    ),
    "a wide table of orders": Example(
        [("order_id", BIGINT), ("user_name", STRING), ("address", STRING), ("sub_orders", pa.list_(SUB_ORDER))],
        {
            "merge-engine": "aggregation",
            "fields.sub_orders.aggregate-function": "nested_update",
            "fields.sub_orders.nested-key": "sub_order_id",
        },
        [
            ([(1, "Ann", "Street 1", N)], [(1, "Ann", "Street 1", N)]),
            (
                [
                    (1, N, N, [{"sub_order_id": 1, "product_name": "pen", "price": 3}]),
                    (1, N, N, [{"sub_order_id": 2, "product_name": "ink", "price": 5}]),
                ],
                [
                    (
                        1,
                        "Ann",
                        "Street 1",
                        [
                            {"sub_order_id": 1, "product_name": "pen", "price": 3},
                            {"sub_order_id": 2, "product_name": "ink", "price": 5},
                        ],
                    )
                ],
            ),
        ],
    ),
    "collect is best effort": Example(
        [("k", INT), ("v", pa.list_(STRING))],
        {"merge-engine": "aggregation", "fields.v.aggregate-function": "collect"},
        [([("-U", 1, ["A"])], []), ([(1, ["A", "B"])], [(1, ["A", "B"])])],
    ),
    "merge_map takes back what others wrote": Example(
        [("k", INT), ("v", pa.map_(INT, STRING))],
        {"merge-engine": "aggregation", "fields.v.aggregate-function": "merge_map"},
        [
            ([(1, [(1, "A")])], [(1, [(1, "A")])]),
            ([(1, [(1, "B")])], [(1, [(1, "B")])]),
            ([("-D", 1, [(1, "B")])], [(1, [])]),
        ],
    ),
    "max with ignore-retract": Example(
        ints("k v"),
        {
            "merge-engine": "aggregation",
            "fields.v.aggregate-function": "max",
            "fields.v.ignore-retract": "true",
        },
        [([(1, 5)], [(1, 5)]), ([("-D", 1, 5)], [(1, 5)])],
    ),
    "count": Example(
        [("k", INT), ("v", BIGINT)],
        {"merge-engine": "aggregation", "fields.v.aggregate-function": "count"},
        [([(1, 70), (1, 71)], [(1, 2)]), ([(1, 72)], [(1, 3)]), ([("-D", 1, 70)], [(1, 2)])],
    ),
    "first row": Example(
        ints("k v"), {"merge-engine": "first-row"}, [([(1, 1)], [(1, 1)]), ([(1, 2), (2, 7)], [(1, 1), (2, 7)])]
    ),
    "first row, deletes ignored": Example(
        ints("k v"),
        {"merge-engine": "first-row", "first-row.ignore-delete": "true"},
        [([(1, 1)], [(1, 1)]), ([("-D", 1, 1), ("-U", 1, 1)], [(1, 1)])],
    ),
}


def statement(example: Example, rows: list[tuple[Any, ...]]) -> pa.Table:
    kinds = [row[0] if isinstance(row[0], str) else "+I" for row in rows]
    values = [row[1:] if isinstance(row[0], str) else row for row in rows]
    columns = [pa.array([row[at] for row in values], f.type) for at, f in enumerate(example.schema)]
    return pa.Table.from_arrays(columns, schema=example.schema).append_column("_row_kind", pa.array(kinds))


@pytest.mark.parametrize("switches", [{}, {"write-only": "true"}, {"num-sorted-run.compaction-trigger": "2"}])
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_prints_what_is_printed_there(memory: Warehouse, name: str, switches: dict[str, str]) -> None:
    example = EXAMPLES[name]
    if example.options.get("merge-engine") == "first-row" and "write-only" in switches:
        pytest.skip("rows of first-row tables are seen once they are compacted")
    table = memory.table(
        schema=example.schema, primary_keys=[example.columns[0][0]], options={**example.options, **switches}
    )
    for rows, printed in example.steps:
        table.append(statement(example, rows))
        assert read(memory.reopened(table)) == printed
    table.compact(full=True)
    assert read(table) == example.steps[-1][1]


def read(table: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(map(_ordered, row.values())) for row in table.scan().to_arrow().to_pylist()), key=repr)


def _ordered(value: Any) -> Any:
    """The rows of a nested table have no order."""
    return sorted(value, key=repr) if isinstance(value, list) and value and isinstance(value[0], dict) else value


def test_a_first_row_is_seen_once_it_is_compacted(memory: Warehouse) -> None:
    example = EXAMPLES["first row"]
    options = {**example.options, "write-only": "true"}
    table = memory.table(schema=example.schema, primary_keys=["k"], options=options)
    table.append(statement(example, [(1, 1)]))
    assert read(table) == []
    table.compact()
    assert read(table) == [(1, 1)]
    table.overwrite(statement(example, [(1, 3)]).drop_columns(["_row_kind"]))
    assert read(table) == []
    visible = memory.table("u", schema=example.schema, primary_keys=["k"], options=example.options)
    visible.append(statement(example, [(1, 1)]))
    visible.overwrite(statement(example, [(1, 3), (1, 4)]).drop_columns(["_row_kind"]))
    assert read(visible) == [(1, 3)]


@pytest.mark.parametrize("kind", ["-D", "-U"])
@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"merge-engine": "partial-update"}, "remove-record-on-delete"),
        ({"merge-engine": "first-row"}, "ignore-delete"),
        *(
            ({"merge-engine": "aggregation", "fields.v.aggregate-function": function}, r"fields\.v\.ignore-retract")
            for function in ("max", "min", "first_value", "first_non_null_value")
        ),
        (
            {
                "merge-engine": "partial-update",
                "fields.s.sequence-group": "v",
                "fields.v.aggregate-function": "max",
            },
            r"fields\.v\.ignore-retract",
        ),
    ],
)
def test_a_retract_that_nothing_can_take_fails_the_write(
    memory: Warehouse, options: dict[str, str], told: str, kind: str
) -> None:
    example = Example(ints("k s v"), options, [])
    table = memory.table(schema=example.schema, primary_keys=["k"], options=options)
    table.append(statement(example, [(1, 1, 1)]))
    files = memory.files(table)
    for key in (1, 2):
        with pytest.raises(RetractNotSupported, match=told):
            table.append(statement(example, [(3, 3, 3), (kind, key, 1, 1)]))
    assert memory.files(table) == files
    assert read(table) == [(1, 1, 1)]


def test_a_retract_without_sequence_asks_no_function(memory: Warehouse) -> None:
    options = {
        "merge-engine": "partial-update",
        "fields.s.sequence-group": "v",
        "fields.v.aggregate-function": "max",
    }
    example = Example(ints("k s v"), options, [])
    table = memory.table(schema=example.schema, primary_keys=["k"], options=options)
    table.append(statement(example, [(1, 1, 1), ("-D", 1, N, 9)]))
    assert read(table) == [(1, 1, 1)]


@pytest.mark.parametrize(
    ("engine", "is_possible"),
    [
        ({"merge-engine": "partial-update"}, False),
        ({"merge-engine": "partial-update", "fields.s.sequence-group": "v"}, False),
        ({"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"}, True),
        (
            {
                "merge-engine": "partial-update",
                "fields.s.sequence-group": "v",
                "partial-update.remove-record-on-sequence-group": "s",
            },
            True,
        ),
        ({"merge-engine": "aggregation"}, False),
        ({"merge-engine": "aggregation", "aggregation.remove-record-on-delete": "true"}, True),
        ({"merge-engine": "first-row"}, False),
    ],
)
def test_delete_works_where_a_delete_row_removes(memory: Warehouse, engine: dict[str, str], is_possible: bool) -> None:
    example = Example(ints("k s v"), engine, [])
    table = memory.table(schema=example.schema, primary_keys=["k"], options=engine)
    table.append(statement(example, [(1, 1, 1), (2, 2, 2)]))
    if is_possible:
        table.delete("k = 1")
        assert read(table) == [(2, 2, 2)]
    else:
        with pytest.raises(UnsupportedFeature, match=engine["merge-engine"]):
            table.delete("k = 1")


def test_a_filter_sees_merged_values_only(memory: Warehouse) -> None:
    example = Example(ints("k a b"), {"merge-engine": "partial-update", "write-only": "true", "bucket": "1"}, [])
    table = memory.table(schema=example.schema, primary_keys=["k"], options=example.options)
    table.append(statement(example, [(1, 1, N), (2, 5, 5)]))
    table.append(statement(example, [(1, N, 2), (2, 6, N)]))
    assert read_where(table, "a = 1 and b = 2") == [1]
    assert read_where(table, "a = 5") == []
    assert read_where(table, "b is null") == []
    sums = memory.table(
        "s",
        schema=example.schema,
        primary_keys=["k"],
        options={
            "merge-engine": "aggregation",
            "fields.default-aggregate-function": "sum",
            "write-only": "true",
            "bucket": "1",
        },
    )
    for _ in range(3):
        sums.append(statement(example, [(1, 1, 1), (2, 5, 5)]))
    assert read_where(sums, "a = 3") == [1]
    assert read_where(sums, "a > 9 and b > 9") == [2]
    assert read_where(sums, "a = 5") == []
    assert read_where(sums, "k = 2") == [2]


def read_where(table: Any, condition: str) -> list[int]:
    return table.scan(columns=["k"], filter=condition).to_arrow()["k"].to_pylist()


def test_any_projection_reads_what_the_whole_row_has(memory: Warehouse) -> None:
    example = EXAMPLES["sequence groups"]
    options = {
        **example.options,
        "write-only": "true",
        "partial-update.remove-record-on-sequence-group": "g_2",
    }
    table = memory.table(schema=example.schema, primary_keys=["k"], options=options)
    for rows in (
        [(k, 1, 1, 1, 1, 1, 1) for k in range(9)],
        [(k, 2, N, k % 3, 2, N, k % 2) for k in range(9)],
        [("-D", 0, 3, 3, 3, 3, 3, N), ("-D", 1, 3, 3, N, 3, 3, 3)],
    ):
        table.append(statement(example, rows))
    whole = {row[0]: row for row in read(table)}
    assert sorted(whole) == [0, 2, 3, 4, 5, 6, 7, 8]
    for at, (column, _) in enumerate(example.columns[1:], 1):
        rows = table.scan(columns=["k", column]).to_arrow().to_pylist()
        assert {row["k"]: row[column] for row in rows} == {k: row[at] for k, row in whole.items()}
    assert table.scan(columns=["a"]).to_arrow().num_rows == len(whole)
    assert table.scan(columns=[]).to_arrow().num_rows == len(whole)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"merge-engine": "first-row", "sequence.field": "s"}, "sequence.field"),
        ({"merge-engine": "aggregation", "fields.v.aggregate-function": "summ"}, r"fields\.v\.aggregate-function"),
        ({"merge-engine": "aggregation", "fields.v.aggregate-function": "bool_or"}, r"fields\.v\.aggregate-function"),
        ({"merge-engine": "aggregation", "fields.x.aggregate-function": "sum"}, "column 'x' does not exist"),
    ],
)
def test_what_does_not_fit_is_refused_when_the_table_is_created(
    memory: Warehouse, options: dict[str, str], told: str
) -> None:
    with pytest.raises(InvalidOption, match=told):
        memory.table(schema=Example(ints("k s v"), {}, []).schema, primary_keys=["k"], options=options)


def test_columns_are_renamed_in_the_options_of_the_engine(memory: Warehouse) -> None:
    example = EXAMPLES["functions in sequence groups"]
    options = {**example.options, "partial-update.remove-record-on-sequence-group": "c", "write-only": "true"}
    table = memory.table(schema=example.schema, primary_keys=["k"], options=options)
    for rows, _ in example.steps[:2]:
        table.append(statement(example, rows))
    renames = [RenameColumn("c", "C"), RenameColumn("d", "D")]
    table = memory.catalog.alter_table(str(table.identifier), renames)
    assert table.schema.options["fields.C.sequence-group"] == "D"
    assert table.schema.options["partial-update.remove-record-on-sequence-group"] == "C"
    renamed = replace(example, columns=ints("k a b C D"))
    for rows, printed in example.steps[2:]:
        table.append(statement(renamed, rows))
        assert read(table) == printed
