"""Random tables that merge rows, written in turn by us and the real Paimon, with values at the edges of their types.

``python -m tests.oracle.random_merges --seed 1 --count 100`` runs many. Each case draws a merge engine, the functions
of its columns, how rows are ordered and taken back, and how changes are told. The same commits go to a table of ours,
to one of Paimon's, and to one that both write by turns. Both read all three, and tell the same changes of them.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from math import inf, nan
from pathlib import Path
from typing import Any

import pyarrow as pa

from table_format import Schema, load_catalog
from table_format.model.arrow_types import arrow_schema
from table_format.model.types import (
    ArrayType,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DataField,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    MapType,
    RowType,
    SmallIntType,
    TimestampType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)
from tests.oracle.peer import PaimonPeer
from tests.oracle.random_cases import run_cases
from tests.oracle.test_aggregate_functions import bitmap32, bitmap64, hll, theta
from tests.oracle.test_incremental import expected_plans, streamed
from tests.oracle.test_merge_engines import Case, Trio
from tests.support.json_rows import alike_rows, sorted_rows

VERSION = "1.4.2"
KEYS = 12
COMMITS = 5

Make = Callable[[random.Random], Any]

_ROW = RowType(
    fields=(
        DataField(0, "id", IntType()),
        DataField(1, "sub", VarCharType()),
        DataField(2, "n", DoubleType()),
        DataField(3, "r", RowType(fields=(DataField(4, "x", IntType()), DataField(5, "y", VarCharType())))),
    )
)
_TIMED = RowType(fields=(DataField(0, "v", IntType()), DataField(1, "at", VarCharType())))


def _one_of(*values: Any) -> Make:
    return lambda chance: chance.choice(values)


def _list_of(make: Make) -> Make:
    return lambda chance: [make(chance) if chance.random() < 0.85 else None for _ in range(chance.randrange(4))]


def _map_of(keys: Sequence[Any], make: Make) -> Make:
    def entries(chance: random.Random) -> list[tuple[Any, Any]]:
        return [(key, make(chance) if chance.random() < 0.8 else None) for key in chance.sample(keys, 2)]

    return entries


def _nested_row(chance: random.Random) -> dict[str, Any]:
    return {
        "id": chance.choice([1, 2, 3, None]),
        "sub": chance.choice(["a", "", None]),
        "n": chance.choice([nan, 0.0, -0.0, None, 1.5]),
        "r": chance.choice([None, {"x": None, "y": "b"}, {"x": 1, "y": None}]),
    }


def _plain_row(chance: random.Random) -> dict[str, Any]:
    return {**_nested_row(chance), "n": chance.choice([None, 1.5])}


def _keyed_row(chance: random.Random) -> dict[str, Any]:
    return {**_plain_row(chance), "id": chance.randrange(3), "sub": chance.choice("ab")}


_FLOATS = (nan, inf, -inf, 0.0, -0.0, 1.5, -2.0)
NUMBERS: tuple[tuple[DataType, Make], ...] = (
    (TinyIntType(), _one_of(-128, 127, -1, 1, 100)),
    (SmallIntType(), _one_of(-(2**15), 2**15 - 1, -1, 1)),
    (IntType(), _one_of(-(2**31), 2**31 - 1, -1, 1)),
    (BigIntType(), _one_of(-(2**63), 2**63 - 1, -1, 1)),
    (FloatType(), _one_of(*_FLOATS, 3e38)),
    (DoubleType(), _one_of(*_FLOATS, 1e308)),
    (DecimalType(5, 2), _one_of(*map(Decimal, ("999.99", "-999.99", "0.01", "2.00", "-0.50")))),
    (DecimalType(18, 0), _one_of(Decimal("9" * 18), Decimal("-" + "9" * 18), Decimal(2))),
    (DecimalType(38, 10), _one_of(Decimal("9" * 28 + "." + "9" * 10), Decimal("-" + "9" * 28), Decimal("0.5"))),
)
TEXTS: tuple[tuple[DataType, Make], ...] = (
    (VarCharType(), _one_of("", "a", "b,a", ",", " ", "\U0001f600", "\uffff")),
    (VarCharType(3), _one_of("", "a", "abc", "\U0001f600b", "a,b")),
)
ORDERED: tuple[tuple[DataType, Make], ...] = (
    *NUMBERS,
    *TEXTS,
    (CharType(3), _one_of("abc", "a  ", "\U0001f600\U0001f600é", "zzz")),
    (VarBinaryType(), _one_of(b"", b"\0", b"\xff", b"\x7f\0")),
    (BinaryType(2), _one_of(b"\0\0", b"\xff\xff", b"\x7f\x80")),
)
ARRAYS: tuple[tuple[DataType, Make], ...] = (
    (ArrayType(IntType()), _list_of(_one_of(1, 2, 3, -(2**31)))),
    (ArrayType(DoubleType()), _list_of(_one_of(*_FLOATS))),
    (ArrayType(FloatType()), _list_of(_one_of(*_FLOATS))),
    (ArrayType(VarCharType()), _list_of(_one_of("", "a", "\U0001f600"))),
    (ArrayType(DecimalType(20, 2)), _list_of(_one_of(Decimal("1.00"), Decimal("-1.00")))),
)
NESTED_ARRAYS: tuple[tuple[DataType, Make], ...] = (
    (ArrayType(ArrayType(IntType())), lambda chance: [chance.choice([[], [1], [1, 2]]) for _ in range(2)]),
    (ArrayType(_ROW), lambda chance: [_plain_row(chance) for _ in range(3)]),
    (
        ArrayType(MapType(VarCharType(nullable=False), IntType())),
        lambda chance: [[(key, chance.choice([1, 2])) for key in "ab"] for _ in range(2)],
    ),
)
"""Without values inside that Paimon compares in ways that depend on where a row comes from (docs/merge-engines.md)."""
BYTES: tuple[tuple[DataType, Make], ...] = ((ArrayType(VarBinaryType()), _list_of(_one_of(b"", b"a"))),)
"""Elements that Java compares by identity, and orders by it."""
MAPS: tuple[tuple[DataType, Make], ...] = (
    (MapType(VarCharType(nullable=False), BigIntType()), _map_of(("", "a", "b", "\U0001f600"), _one_of(1, 2))),
    (MapType(DoubleType(nullable=False), VarCharType()), _map_of((0.0, -0.0, nan, inf), _one_of("a", ""))),
    (MapType(DecimalType(20, 2, nullable=False), _ROW), _map_of((Decimal("1.00"), Decimal("2.00")), _nested_row)),
    (MapType(IntType(nullable=False), ArrayType(IntType())), _map_of((1, 2, 17, 33), _list_of(_one_of(1, 2)))),
)
TABLES: tuple[tuple[DataType, Make], ...] = ((ArrayType(_ROW), lambda chance: [_keyed_row(chance) for _ in range(2)]),)
ANY = (*ORDERED, *ARRAYS, *NESTED_ARRAYS, *BYTES, *MAPS, (BooleanType(), _one_of(True, False)), (_ROW, _nested_row))
_ENTRIES = _map_of((1, 2, 3), lambda chance: {"v": 1, "at": chance.choice(["1", "2", None])})
TIMED = ((MapType(IntType(nullable=False), _TIMED), _ENTRIES),)


@dataclass(frozen=True)
class Function:
    """An aggregate function as a case may have it."""

    name: str
    columns: Sequence[tuple[DataType, Make]]
    retracts: bool = False
    options: tuple[dict[str, str], ...] = ({},)


BY_KEY = {"nested-key": "id,sub"}
FUNCTIONS = (
    Function("sum", NUMBERS, retracts=True),
    Function("product", NUMBERS),
    Function("product", NUMBERS[4:6], retracts=True),
    Function("max", ORDERED),
    Function("min", ORDERED),
    Function("last_value", ANY, retracts=True),
    Function("last_non_null_value", ANY, retracts=True),
    Function("first_value", ANY),
    Function("first_non_null_value", ANY),
    Function("listagg", TEXTS[:1], options=({}, {"list-agg-delimiter": ";"}, {"distinct": "true"})),
    Function("bool_and", ((BooleanType(), _one_of(True, False)),)),
    Function("bool_or", ((BooleanType(), _one_of(True, False)),)),
    Function("collect", ARRAYS, retracts=True, options=({}, {"distinct": "true"})),
    Function("collect", [*NESTED_ARRAYS, *BYTES]),
    Function("collect", NESTED_ARRAYS, retracts=True, options=({"distinct": "true"},)),
    Function("merge_map", MAPS, retracts=True),
    Function("merge_map_with_keytime", TIMED, options=({"ts-field": "at"},)),
    Function("nested_update", TABLES, retracts=True, options=({}, BY_KEY)),
    Function("nested_update", TABLES, options=({"count-limit": "3"}, {**BY_KEY, "count-limit": "3"})),
    Function("nested_partial_update", TABLES, options=(BY_KEY,)),
    Function("rbm32", ((VarBinaryType(), bitmap32),)),
    Function("rbm64", ((VarBinaryType(), bitmap64),)),
    Function("theta_sketch", ((VarBinaryType(), theta),)),
    Function("hll_sketch", ((VarBinaryType(), hll),)),
)
SEQUENCES: tuple[tuple[DataType, Make], ...] = (
    (IntType(), _one_of(1, 2)),
    (BigIntType(), _one_of(-(2**63), 2**63 - 1)),
    (VarCharType(), _one_of("", "b")),
    (DoubleType(), _one_of(-inf, 0.0)),
    (DecimalType(20, 2), _one_of(Decimal("1.00"), Decimal("-1.00"))),
    (TimestampType(6), _one_of(None)),
)


@dataclass
class MergeCase:
    """The columns and options of a table. ``kinds`` are the row kinds that it takes."""

    columns: dict[str, tuple[DataType, Make]] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    kinds: tuple[str, ...] = ("+I", "+U")
    is_one_row_per_key: bool = False

    @property
    def fields(self) -> tuple[DataField, ...]:
        return tuple(DataField(i, name, t) for i, (name, (t, _)) in enumerate(self.columns.items()))

    def schema(self) -> Schema:
        schema = Schema.from_arrow(arrow_schema(self.fields), primary_keys=["k"], options=self.options)
        types = {f.name: f.type for f in self.fields}
        return replace(schema, fields=tuple(replace(f, type=types[f.name]) for f in schema.fields))

    def rows(self, chance: random.Random) -> tuple[list[str], pa.Table]:
        """A batch. Unless the order of a batch differs in Paimon, some keys have several rows."""
        counts = [0, 1] if self.is_one_row_per_key else [0, 0, 1, 1, 2, 3]
        keys = [key for key in range(KEYS) for _ in range(chance.choice(counts))] or [0]
        chance.shuffle(keys)
        values: list[list[Any]] = [keys]
        for make in [make for name, (_, make) in self.columns.items() if name != "k"]:
            values.append([make(chance) if chance.random() > 0.25 else None for _ in keys])
        schema = arrow_schema(self.fields)
        arrays = [pa.array(column, schema.field(i).type) for i, column in enumerate(values)]
        return [chance.choice(self.kinds) for _ in keys], pa.Table.from_arrays(arrays, schema=schema)


def draw(chance: random.Random) -> MergeCase:
    """Draw a case."""
    case = MergeCase({"k": (IntType(nullable=False), _one_of(0))})
    case.options = {
        "bucket": "1",
        "write-only": "true",
        "file.format": chance.choice(["parquet", "orc", "avro"]),
        "merge-engine": chance.choice(["aggregation", "aggregation", "partial-update"]),
        **chance.choice(
            [
                {},
                {"changelog-producer": "lookup"},
                {"changelog-producer": "full-compaction"},
                {"changelog-producer": "lookup", "changelog-producer.row-deduplicate": "true"},
                {"changelog-producer": "full-compaction", "changelog-producer.row-deduplicate": "true"},
                {"deletion-vectors.enabled": "true"},
                {"deletion-vectors.enabled": "true", "changelog-producer": "lookup"},
            ]
        ),
    }
    takes_back = chance.random() < 0.6
    if takes_back:
        case.kinds = chance.choice([("+I", "+U", "-U", "-D"), ("+I", "+I", "-D"), ("+I", "-U", "+U")])
    if chance.random() < 0.5:
        _add_sequence(case, chance)
    if case.options["merge-engine"] == "aggregation":
        _add_functions(case, chance, [f"v{i}" for i in range(chance.randrange(2, 6))], takes_back=takes_back)
        if takes_back and not any("ignore-retract" in key for key in case.options) and chance.random() < 0.3:
            case.options["aggregation.remove-record-on-delete"] = "true"
    else:
        _add_groups(case, chance, takes_back=takes_back)
    return case


def _add_sequence(case: MergeCase, chance: random.Random) -> None:
    names = ["s0", "s1"][: chance.choice([1, 1, 2])]
    for name in names:
        case.columns[name] = chance.choice(SEQUENCES)
    case.options["sequence.field"] = ",".join(names)
    if chance.random() < 0.3:
        case.options["sequence.field.sort-order"] = "descending"
        # Up to 1.4.2, the write buffer of Paimon ignores the order (docs/merge-engines.md).
        case.is_one_row_per_key = True


def _add_functions(case: MergeCase, chance: random.Random, names: Sequence[str], *, takes_back: bool) -> None:
    for name in names:
        function = chance.choice(FUNCTIONS)
        case.columns[name] = chance.choice(function.columns)
        case.options[f"fields.{name}.aggregate-function"] = function.name
        for key, value in chance.choice(function.options).items():
            case.options[f"fields.{name}.{key}"] = value
        if takes_back and (not function.retracts or chance.random() < 0.2):
            case.options[f"fields.{name}.ignore-retract"] = "true"


def _add_groups(case: MergeCase, chance: random.Random, *, takes_back: bool) -> None:
    for name in ("f0", "f1")[: chance.randrange(3)]:
        case.columns[name] = chance.choice(ANY)
    count = chance.choice([1, 1, 2]) if takes_back else chance.randrange(3)
    sequences = []
    for group in range(count):
        order = [f"g{group}", f"h{group}"][: chance.choice([1, 1, 2])]
        members = [f"m{group}{i}" for i in range(chance.randrange(1, 4))]
        for name in order:
            case.columns[name] = chance.choice(SEQUENCES)
        plain = [name for name in members if chance.random() < 0.3]
        for name in plain:
            case.columns[name] = chance.choice(ANY)
        _add_functions(case, chance, [name for name in members if name not in plain], takes_back=takes_back)
        case.options[f"fields.{','.join(order)}.sequence-group"] = ",".join(members)
        sequences.append(order[0])
    if takes_back and chance.random() < 0.4:
        removing = chance.sample(sequences, chance.randrange(1, len(sequences) + 1))
        case.options["partial-update.remove-record-on-sequence-group"] = ",".join(removing)


def run(seed: str, paimon: PaimonPeer, warehouse: Path) -> list[str]:
    """Run the case of a seed: its steps. What fails says all of them.

    Raises:
        AssertionError: two readers differ.
    """
    chance = random.Random(seed)
    catalog = load_catalog({"warehouse": str(warehouse)})
    catalog.create_database("db", ignore_if_exists=True)
    case = draw(chance)
    steps = [f"seed {seed}: " + ", ".join(f"{f.name} {f.type}" for f in case.fields) + f" WITH {case.options}"]
    for name in ("ours", "theirs", "mixed"):
        catalog.create_table(f"db.{name}", case.schema())
    trio = Trio(paimon, warehouse, Case({}))
    try:
        for _ in range(COMMITS):
            kinds, rows = case.rows(chance)
            steps.append(f"write {[[kind, *row.values()] for kind, row in zip(kinds, rows.to_pylist(), strict=True)]}")
            for name, by_us in {"ours": True, "theirs": False, "mixed": chance.random() < 0.5}.items():
                trio.write(name, kinds, rows, by_us=by_us)
            if chance.random() < 0.4:
                steps.append("compact")
                for name, by_us in {"ours": True, "theirs": False, "mixed": chance.random() < 0.5}.items():
                    trio.compact(name, by_us=by_us)
            _compare(trio, case)
        _compare_changes(trio, case)
    except Exception as error:
        message = "\n  ".join(steps) + f"\n{type(error).__name__}: {error}"
        raise AssertionError(message) from error
    return steps


def _compare(trio: Trio, case: MergeCase) -> None:
    expected: list[str] | None = None
    for name in ("ours", "theirs", "mixed"):
        for who, rows in zip(("here", "there"), trio.read(name), strict=True):
            # As text, in which 0.0 and -0.0 differ.
            found = [json.dumps(row) for row in _alike_rows(rows, case.fields, case.options)]
            expected = expected or found
            different = [pair for pair in zip(found, expected, strict=False) if pair[0] != pair[1]]
            assert found == expected, f"table {name}, read {who}: {different[:2] or (len(found), len(expected))}"


def _alike_rows(rows: list[Any], fields: Sequence[DataField], options: Mapping[str, str]) -> list[list[Any]]:
    """Rows as both show them. The ORC reader of Paimon takes 0.0 and -0.0 as one value that is repeated."""
    return alike_rows(_without_signs_of_zero(rows) if options.get("file.format") == "orc" else rows, fields)


def _without_signs_of_zero(value: Any) -> Any:
    match value:
        case float():
            return value + 0.0
        case list():
            return [_without_signs_of_zero(each) for each in value]
        case dict():
            return {name: _without_signs_of_zero(each) for name, each in value.items()}
        case _:
            return value


def _compare_changes(trio: Trio, case: MergeCase) -> None:
    """The three tables have the same changes, whichever engine wrote and reads them."""
    options = {"scan.snapshot-id": "1"}
    told: dict[str, list[Any]] = {}
    for name in ("ours", "theirs", "mixed"):
        here = _alike_plans(streamed(trio.table(name), options), case)
        there = _alike_plans(expected_plans(trio.paimon, trio.warehouse, f"db.{name}", options), case)
        assert here == there, f"changes of table {name}: here {here}, there {there}"
        told[name] = sorted_rows([change for plan in here.values() for change in _without_repetitions(plan)])
    for name in ("theirs", "mixed"):
        more = [change for change in told[name] if change not in told["ours"]]
        less = [change for change in told["ours"] if change not in told[name]]
        counts = f"of {len(told[name])} and {len(told['ours'])} changes"
        assert told[name] == told["ours"], f"table {name} tells {more[:6]}, ours tells {less[:6]} {counts}"


def _without_repetitions(changes: list[list[Any]]) -> list[list[Any]]:
    """Changes without updates of rows to themselves.

    With ``changelog-producer.row-deduplicate``, Paimon tells an update of a row that has NaN, or a map with a null, and
    none from 0.0 to -0.0.
    """
    kept = list(changes)
    for change in changes:
        after = ["+U", *change[1:]]
        if change[0] == "-U" and change in kept and after in kept:
            kept.remove(change)
            kept.remove(after)
    return kept


def _alike_plans(plans: dict[int, Any], case: MergeCase) -> dict[int, list[list[Any]]]:
    with_kind = (DataField(-1, "rowkind", VarCharType()), *case.fields)
    return {snapshot: _alike_rows(changes, with_kind, case.options) for snapshot, changes in plans.items()}


def main() -> int:
    """Run many cases. The exit code is 1 if one failed."""
    passed, failed = run_cases("tests.oracle.random_merges", __doc__, run, VERSION)
    print(f"{len(passed) + failed} cases, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
