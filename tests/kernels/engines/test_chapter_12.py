"""Every row of the tables of format chapter 12, sections 2 to 6, that concerns engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from table_format.errors import InvalidData, RetractNotSupported
from table_format.kernels.aggregates import AggregateSpec
from table_format.kernels.engines import Aggregation, Engine, FirstRow, PartialUpdate, SequenceGroup, combine
from table_format.model.types import DataField, IntType

ADD, UB, DEL = 0, 1, 3
N = None
COLUMNS = ("k", "a", "b", "g1", "c", "g2")
Version = tuple[int, tuple[Any, ...]]


def sums(*columns: str) -> tuple[AggregateSpec, ...]:
    return tuple(AggregateSpec("sum", DataField(i, name, IntType())) for i, name in enumerate(columns))


def function(name: str, column: str, **options: Any) -> AggregateSpec:
    return AggregateSpec(name, DataField(0, column, IntType()), **options)


def groups(*, removing: str = "", a: str = "", b: str = "") -> PartialUpdate:
    return PartialUpdate(
        (
            SequenceGroup(("g1",), ("a", "b"), removes_record=removing == "g1"),
            SequenceGroup(("g2",), ("c",), removes_record=removing == "g2"),
        ),
        tuple(function(name, column) for name, column in ((a, "a"), (b, "b")) if name),
    )


def result(engine: Engine, *versions: Version) -> Version | None:
    columns = [pa.array([row[i] for _, row in versions], pa.int32()) for i in range(len(COLUMNS))]
    numbers = pa.array(range(10, 10 + len(versions)), pa.int64())
    kinds = pa.array([kind for kind, _ in versions], pa.int8())
    names = [*COLUMNS, "_SEQUENCE_NUMBER", "_VALUE_KIND"]
    rows = pa.RecordBatch.from_arrays([*columns, numbers, kinds], names=names)
    merged = combine(rows, np.array([0]), engine).to_pylist()
    if not merged:
        return None
    values = list(merged[0].values())
    return values[-1], tuple(values[:-2])


PLAIN = PartialUpdate()
IGNORING = PartialUpdate(ignore_delete=True)
REMOVING = PartialUpdate(remove_on_delete=True)
TUPLE = PartialUpdate((SequenceGroup(("g1", "g2"), ("a", "b")),))
ONE = (ADD, (1, 1, 1, 1, 1, 1))

CASES: list[tuple[str, Engine, list[Version], Version]] = [
    # section 4: without sequence groups
    ("later values overwrite, nulls do not", PLAIN, [(ADD, (1, 1, N, 1, 1, 1)), (ADD, (1, N, 2, N, 5, N))],
     (ADD, (1, 1, 2, 1, 5, 1))),
    ("an ignored delete", IGNORING, [ONE, (DEL, (1, 2, 1, 1, 1, 1))], ONE),
    ("nothing but ignored deletes", IGNORING, [(DEL, (1, 2, 1, 1, 1, 1)), (DEL, (1, 3, 3, 3, 3, 3))],
     (DEL, (1, 2, 1, 1, 1, 1))),
    ("an ignored delete that is first lends its values", IGNORING,
     [(DEL, (1, 2, 7, 1, 1, 1)), (ADD, (1, 5, N, N, N, N))],
     (ADD, (1, 5, 7, 1, 1, 1))),
    ("a delete that removes", REMOVING, [ONE, (DEL, (1, 2, 1, 1, 1, 1))], (DEL, (1, 2, 1, 1, 1, 1))),
    ("a row after its removal", REMOVING, [ONE, (DEL, (1, 2, 1, 1, 1, 1)), (ADD, (1, N, 9, N, N, N))],
     (ADD, (1, 2, 9, 1, 1, 1))),
    ("-U does not remove", REMOVING, [ONE, (UB, (1, 2, 2, 2, 2, 2))], ONE),
    ("-U after a removal", REMOVING, [ONE, (DEL, (1, 2, 2, 2, 2, 2)), (UB, (1, 3, 3, 3, 3, 3))],
     (ADD, (1, 2, 2, 2, 2, 2))),
    # section 5: with sequence groups
    ("a group without sequence is skipped", groups(), [ONE, (ADD, (1, 2, 2, 2, 2, N))], (ADD, (1, 2, 2, 2, 1, 1))),
    ("a late group is skipped", groups(), [(ADD, (1, 1, 1, 5, 1, 1)), (ADD, (1, 2, 2, 3, 2, 2))],
     (ADD, (1, 1, 1, 5, 2, 2))),
    ("an equal sequence overwrites", groups(), [(ADD, (1, 1, 1, 5, 1, 1)), (ADD, (1, 2, N, 5, 2, 1))],
     (ADD, (1, 2, N, 5, 2, 1))),
    ("nulls overwrite in a group", groups(), [ONE, (ADD, (1, N, 2, 2, N, 2))], (ADD, (1, N, 2, 2, N, 2))),
    ("a delete takes back its group", groups(), [ONE, (DEL, (1, 7, 7, 2, 7, N))], (ADD, (1, N, N, 2, 1, 1))),
    ("a late delete takes nothing back", groups(), [(ADD, (1, 1, 1, 5, 1, 1)), (DEL, (1, 1, 1, 2, 1, N))],
     (ADD, (1, 1, 1, 5, 1, 1))),
    ("deletes alone", groups(), [(DEL, (1, 7, 7, 2, 7, N)), (DEL, (1, 7, 7, 1, 7, N))], (DEL, (1, N, N, 2, 7, N))),
    ("a delete that is first", groups(), [(DEL, (1, 7, 7, 2, 7, N)), (ADD, (1, 8, 8, 1, 8, 1))],
     (ADD, (1, N, N, 2, 8, 1))),
    ("a group that removes the row", groups(removing="g2"), [ONE, (DEL, (1, 7, 7, N, 7, 2))],
     (DEL, (1, 7, 7, N, 7, 2))),
    ("a group that does not", groups(removing="g2"), [ONE, (DEL, (1, 7, 7, 2, 7, N))], (ADD, (1, N, N, 2, 1, 1))),
    ("late rows are first values", groups(a="sum", b="first_value"),
     [(ADD, (1, 1, 1, 5, 1, 1)), (ADD, (1, 2, 2, 6, 1, 1)), (ADD, (1, 4, 4, 1, 1, 1))], (ADD, (1, 7, 4, 6, 1, 1))),
    ("functions skip a group without sequence", groups(a="sum", b="first_value"),
     [(ADD, (1, 1, 1, 5, 1, 1)), (ADD, (1, 2, 2, N, 2, 2))], (ADD, (1, 1, 1, 5, 2, 2))),
    ("functions take back", groups(a="sum"), [(ADD, (1, 10, 1, 5, 1, 1)), (DEL, (1, 3, 9, 6, 1, N))],
     (ADD, (1, 7, N, 6, 1, 1))),
    ("functions take back late", groups(a="sum"), [(ADD, (1, 10, 1, 5, 1, 1)), (DEL, (1, 3, 9, 2, 1, N))],
     (ADD, (1, 7, 1, 5, 1, 1))),
    ("tuples compare in order, null first", TUPLE,
     [(ADD, (1, 1, 1, 1, 1, 5)), (ADD, (1, 2, 2, 1, 1, 4)), (ADD, (1, 3, 3, N, 1, 9))], (ADD, (1, 1, 1, 1, 1, 5))),
    # section 3
    ("the first row", FirstRow(), [ONE, (ADD, (1, 2, 2, 2, 2, 2))], ONE),
    ("the first row after an ignored delete", FirstRow(ignore_delete=True), [(DEL, (1, 9, 9, 9, 9, 9)), ONE], ONE),
    # section 6
    ("sums", Aggregation(sums("a", "b", "g1", "c", "g2")), [ONE, (ADD, (1, 2, N, 3, 4, 5)), (UB, (1, 1, 1, 1, 1, 1))],
     (ADD, (1, 2, 0, 3, 4, 5))),
    ("a removal, and what is added to it", Aggregation(sums("a", "b", "g1", "c", "g2"), remove_on_delete=True),
     [ONE, (DEL, (1, 1, 1, 1, 1, 1)), (ADD, (1, 4, 4, 4, 4, 4))], (ADD, (1, 5, 5, 5, 5, 5))),
    ("a removal", Aggregation(sums("a", "b", "g1", "c", "g2"), remove_on_delete=True),
     [ONE, (DEL, (1, 3, N, 1, 1, 1))], (DEL, (1, 3, N, 1, 1, 1))),
    ("last_non_null_value takes back whatever it is", Aggregation((function("last_non_null_value", "a"),)),
     [ONE, (DEL, (1, 7, 1, 1, 1, 1))], (ADD, (1, N, 1, 1, 1, 1))),
    ("an ignored retract", Aggregation((function("max", "a", ignore_retract=True),)),
     [(ADD, (1, 5, 1, 1, 1, 1)), (DEL, (1, 5, 1, 1, 1, 1))], (ADD, (1, 5, 1, 1, 1, 1))),
]  # fmt: skip


@pytest.mark.parametrize(("engine", "versions", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_the_table_of_results(engine: Engine, versions: list[Version], expected: Version):
    assert result(engine, *versions) == expected


@pytest.mark.parametrize("engine", [FirstRow(), PLAIN, groups(), Aggregation(sums("a"))])
@pytest.mark.parametrize("kind", [ADD, UB, 2, DEL])
def test_a_key_with_one_version_is_left_as_it_is(engine: Engine, kind: int):
    alone = (kind, (1, 2, N, N, 3, N))
    assert result(engine, alone) == alone


@pytest.mark.parametrize("kind", [UB, DEL])
@pytest.mark.parametrize("versions", [0, 1])
@pytest.mark.parametrize(
    ("engine", "told"),
    [
        (PLAIN, "ignore-delete.*remove-record-on-delete.*sequence-group"),
        (FirstRow(), "ignore-delete"),
        (Aggregation((function("max", "a"),)), r"fields\.a\.ignore-retract"),
    ],
)
def test_an_engine_that_cannot_retract_says_what_to_do(engine: Engine, told: str, kind: int, versions: int):
    rows = [ONE, ONE]
    rows.insert(versions, (kind, (1, 1, 1, 1, 1, 1)))
    with pytest.raises(RetractNotSupported, match=told):
        result(engine, *rows)


def test_a_not_null_column_never_becomes_null():
    required = PartialUpdate(required=frozenset({"b"}))
    with pytest.raises(InvalidData, match="'b' is NOT NULL"):
        result(required, ONE, (ADD, (1, 1, N, 1, 1, 1)))
    assert result(required, ONE, (ADD, (1, N, 2, 1, 1, 1))) == (ADD, (1, 1, 2, 1, 1, 1))
    grouped = PartialUpdate(groups().groups, required=frozenset({"b"}))
    with pytest.raises(InvalidData, match="'b' is NOT NULL; merging 1 key left 1 of them without it"):
        result(grouped, ONE, (DEL, (1, 1, 1, 5, 1, 1)))


def test_the_sequence_number_is_that_of_the_last_version_that_counts():
    rows = pa.record_batch(
        {"k": [1, 1, 2, 2], "_SEQUENCE_NUMBER": [4, 7, 5, 6], "_VALUE_KIND": pa.array([0, 0, 0, 3], pa.int8())}
    )
    starts = np.array([0, 2])
    for engine, numbers in ((IGNORING, [7, 5]), (REMOVING, [7, 6]), (FirstRow(ignore_delete=True), [4, 5])):
        assert combine(rows, starts, engine)["_SEQUENCE_NUMBER"].to_pylist() == numbers
