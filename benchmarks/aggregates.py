"""CPU seconds of the aggregate functions for a million rows, compared with pyarrow's ``group_by`` if it has them.

    python -m benchmarks.aggregates                          # every function, groups of two and of four rows
    python -m benchmarks.aggregates --rows 100000 --only sum

Groups have one to three, or one to seven rows; a tenth of the values is null. In ``retracts``, every twentieth row is a
retract. pyarrow gets the group of each row as a column and hashes it, as it must if the groups are not known. Float
sums of pyarrow are not in merge order.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from table_format.kernels.aggregates import Action, AggregateSpec, fold
from table_format.model.arrow_types import arrow_type
from table_format.model.types import (
    ArrayType,
    BigIntType,
    BooleanType,
    DataField,
    DataType,
    DecimalType,
    DoubleType,
    IntType,
    MapType,
    RowType,
    VarBinaryType,
    VarCharType,
)

NULLS = 0.1
ROW = RowType(fields=(DataField(1, "id", IntType()), DataField(2, "text", VarCharType())))


@dataclass(frozen=True, slots=True)
class Case:
    """A function on a type. ``peer`` is its name in pyarrow, ``share`` is the fraction of rows that it gets."""

    function: str
    type: DataType
    peer: str = ""
    retracts: bool = False
    share: float = 1.0
    options: tuple[tuple[str, object], ...] = ()


KEYED = (("nested_key", ("id",)),)
DISTINCT = (("distinct", True),)
CASES = (
    Case("sum", BigIntType(), "sum"),
    Case("sum", BigIntType(), retracts=True),
    Case("sum", DoubleType(), "sum"),
    Case("sum", DecimalType(precision=18, scale=2), "sum"),
    Case("sum", DecimalType(precision=30, scale=2), "sum"),
    Case("product", BigIntType(), "product"),
    Case("product", DoubleType(), "product"),
    Case("product", BigIntType(), retracts=True),
    Case("product", DecimalType(precision=18, scale=2)),
    Case("count", BigIntType(), "count"),
    Case("max", BigIntType(), "max"),
    Case("max", DoubleType(), "max"),
    Case("min", DecimalType(precision=18, scale=2), "min"),
    Case("max", VarCharType(), "max"),
    Case("bool_and", BooleanType(), "all"),
    Case("last_value", VarCharType(), "last"),
    Case("last_non_null_value", VarCharType(), "last"),
    Case("last_non_null_value", VarCharType(), retracts=True),
    Case("first_value", VarCharType(), "first"),
    Case("first_non_null_value", VarCharType(), "first"),
    Case("listagg", VarCharType()),
    Case("listagg", VarCharType(), share=0.2, options=DISTINCT),
    Case("collect", ArrayType(IntType()), share=0.5),
    Case("collect", ArrayType(IntType()), share=0.2, options=DISTINCT),
    Case("collect", ArrayType(IntType()), share=0.1, retracts=True),
    Case("merge_map", MapType(IntType(), VarCharType()), share=0.2),
    Case("nested_update", ArrayType(ROW), share=0.1),
    Case("nested_update", ArrayType(ROW), share=0.1, options=KEYED),
    Case("nested_partial_update", ArrayType(ROW), share=0.1, options=KEYED),
    Case("rbm32", VarBinaryType(), share=0.01),
    Case("rbm64", VarBinaryType(), share=0.01),
    Case("theta_sketch", VarBinaryType(), share=0.01),
    Case("hll_sketch", VarBinaryType(), share=0.01),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", default="", help="only functions whose name contains this")
    arguments = parser.parse_args()
    print(f"{'function, CPU s per million rows':<56}{'group size':>11}{'ours':>9}{'pyarrow':>9}")
    for case in CASES:
        if arguments.only not in case.function:
            continue
        for size in (2, 4):
            rows = max(1, int(arguments.rows * case.share))
            ours, peer = measure(case, rows, size, arguments.repeat)
            scale = 1e6 / rows
            theirs = "" if peer is None else f"{peer * scale:.3f}"
            print(f"{_name(case):<56}{size:>11}{ours * scale:>9.3f}{theirs:>9}", flush=True)


def measure(case: Case, rows: int, size: int, repeat: int) -> tuple[float, float | None]:
    """Return the minimum CPU time of this library and of pyarrow."""
    random = np.random.default_rng(size)
    lengths = random.integers(1, 2 * size, rows // size + 1)
    starts = np.cumsum(lengths) - lengths
    starts = starts[starts < rows]
    values = _values(case, rows, random)
    actions = np.full(rows, Action.AGG, np.int8)
    if case.retracts:
        actions[random.random(rows) < 0.05] = Action.RETRACT
    spec = AggregateSpec(case.function, DataField(1, "f", case.type), **dict(case.options))  # type: ignore[arg-type]
    ours = _least(lambda: fold(spec, values, starts, actions), repeat)
    if not case.peer:
        return ours, None
    groups = np.repeat(np.arange(len(starts)), np.diff(starts, append=rows))
    table = pa.table({"g": groups, "f": values})
    ordered = case.peer in ("first", "last")
    return ours, _least(
        lambda: table.group_by("g", use_threads=not ordered and None).aggregate([("f", case.peer)]), repeat
    )


def _least(work: Callable[[], object], repeat: int) -> float:
    work()
    times = []
    for _ in range(repeat):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def _name(case: Case) -> str:
    extras = [name for name, _ in case.options] + ["retracts"] * case.retracts
    return f"{case.function} {case.type}"[:40] + "".join(f", {extra}" for extra in extras)


def _values(case: Case, rows: int, random: np.random.Generator) -> pa.Array:
    nulls = random.random(rows) < NULLS
    blobs = dict(_blobs())
    if case.function in blobs:
        pieces = pa.array(blobs[case.function], pa.binary())
        return pieces.take(pa.array(random.integers(0, len(pieces), rows), mask=nulls))
    return _column(case.type, rows, nulls, random)


def _column(t: DataType, rows: int, nulls: np.ndarray, random: np.random.Generator) -> pa.Array:  # type: ignore[type-arg]
    arrow = arrow_type(t)
    integers = random.integers(1, 1_000_000, rows)
    match t:
        case DecimalType():
            return (
                pa.array(integers, mask=nulls).cast(pa.decimal128(38, 0)).cast(pa.decimal128(38, t.scale)).cast(arrow)
            )
        case DoubleType():
            return pa.array(integers / 7, arrow, mask=nulls)
        case BooleanType():
            return pa.array(integers % 3 > 0, mask=nulls)
        case VarCharType():
            return pa.array([f"value {i:>14}" for i in integers.tolist()], arrow).take(
                pa.array(np.arange(rows), mask=nulls)
            )
        case RowType():
            fields = [_column(f.type, rows, nulls, random) for f in t.fields]
            return pa.StructArray.from_arrays(fields, fields=list(arrow))
        case ArrayType() | MapType():
            offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * 3)
            inner = np.zeros(3 * rows, np.bool_)
            if isinstance(t, ArrayType):
                return pa.ListArray.from_arrays(
                    offsets, _column(t.element, 3 * rows, inner, random), arrow, mask=pa.array(nulls)
                )
            keys = pa.array(integers.repeat(3) * 4 + np.tile([0, 1, 2], rows), pa.int32())
            items = _column(t.value, 3 * rows, inner, random)
            return pa.MapArray.from_arrays(offsets, keys, items, arrow, mask=pa.array(nulls))
    return pa.array(integers, arrow, mask=nulls)


def _blobs() -> Iterator[tuple[str, list[bytes]]]:
    import datasketches
    from pyroaring import BitMap

    from table_format.kernels.aggregates.roaring import Container, Kind, encode_bitmap32
    from table_format.kernels.aggregates.roaring64 import Bitmap64, encode_bitmap64

    random = np.random.default_rng(1)
    lows = [np.unique(random.integers(0, 1 << 16, 50)).astype(np.uint16) for _ in range(100)]
    yield "rbm32", [encode_bitmap32({0: Container(Kind.ARRAY, BitMap(low))}) for low in lows]
    wide = []
    for low in lows:
        bitmap = Bitmap64()
        bitmap.put(bytes(6), Container(Kind.ARRAY, BitMap(low)))
        wide.append(encode_bitmap64(bitmap))
    yield "rbm64", wide
    theta, hll = [], []
    for low in lows:
        one, two = datasketches.update_theta_sketch(), datasketches.hll_sketch(12)
        for value in low.tolist():
            one.update(value)
            two.update(value)
        theta.append(one.compact().serialize())
        hll.append(two.serialize_compact())
    yield "theta_sketch", theta
    yield "hll_sketch", hll


if __name__ == "__main__":
    main()
