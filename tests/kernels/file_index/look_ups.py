"""Looks up every value that an index was made of: ``python -m tests.kernels.file_index.look_ups`` counts.

Columns of a type are cut into files, which get an index. Each value is looked up, and may not be said to be absent.
Where an index finds rows, in one file of eight the rows of an IN over a hundred values have to be just those that hold
one of them, for all its values, and for some the rows of one value, of what is smaller, and of what is not smaller. Of
absent values a bloom filter admits no more than 1.2 times its rate; a filter of TINYINT, which has few values, 1.3
times down to a rate of 0.01.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from table_format.kernels.file_index import INDEX_TYPES
from table_format.kernels.file_index.conditions import MAX_VALUES, Condition, SoughtValues, condition_of
from table_format.kernels.file_index.keys import keys_of
from table_format.kernels.file_index.protocol import IndexReader
from table_format.kernels.file_index.results import Leaf, Rows, Skip, Unknown
from table_format.kernels.values import values_of
from table_format.model.arrow_types import arrow_type
from table_format.model.predicate import Compare, CompareOp, In
from table_format.model.types import (
    AnyTimestampType,
    BigIntType,
    BooleanType,
    BytesType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    SmallIntType,
    TextType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)
from tests.kernels.file_index.columns import SMALL, built, reader_of

Chance = np.random.Generator

TYPES: tuple[DataType, ...] = (
    BooleanType(),
    TinyIntType(),
    SmallIntType(),
    IntType(),
    BigIntType(),
    FloatType(),
    DoubleType(),
    DecimalType(9, 2),
    DecimalType(18, 4),
    DecimalType(30, 3),
    DateType(),
    TimeType(3),
    TimestampType(0),
    TimestampType(3),
    TimestampType(6),
    TimestampType(9),
    LocalZonedTimestampType(3),
    LocalZonedTimestampType(6),
    CharType(12),
    VarCharType(),
    VarBinaryType(),
)
PAIRS = [(index, each) for index, kind in INDEX_TYPES.items() for each in TYPES if kind.declaration.supports(each)]
"""Every type of index with every type of column that it takes."""

ROWS_OF_FILE = 1000
ROWS_OF_FILES = 8
"""Of one of so many files the rows of each value are compared too."""
FEW_VALUES = 16
SAMPLE = 250
"""One of so many values is asked for by itself too."""
_MOST_DAYS = 2_900_000


def random_column(data_type: DataType, count: int, chance: Chance) -> pa.Array:
    """So many values of a type: of all magnitudes, with their extremes, some null."""
    wide = _integers(chance, count)
    is_null = chance.random(count) < 0.02
    match data_type:
        case BooleanType():
            return pa.array(wide % 2 == 0, mask=is_null)
        case FloatType() | DoubleType():
            numbers = wide.astype(np.float64) * np.exp2(chance.integers(-60, 60, count))
            numbers[:4] = (0.0, -0.0, np.inf, -np.inf)
            return pa.array(numbers.astype(arrow_type(data_type).to_pandas_dtype()), mask=is_null)
        case DecimalType(precision=precision, scale=scale):
            # Of more than 18 digits those that fit into 64 bits, which are all that the index holds.
            unscaled = wide % 10 ** min(precision, 18)
            words = np.zeros((count, 2), np.int64)
            words[:, 0], words[:, 1] = unscaled, unscaled >> 63
            whole = pa.Array.from_buffers(pa.decimal128(precision, scale), count, [None, pa.py_buffer(words.tobytes())])
            return pa.array(whole.to_pylist(), whole.type, mask=is_null)
        case TextType() | BytesType():
            texts = [f"{n:x}"[:12].ljust(int(n) % 4, "é") for n in wide.tolist()]
            made = pa.array(texts, mask=is_null)
            return made if isinstance(data_type, TextType) else made.cast(pa.binary())
        case DateType():
            return pa.array((wide % _MOST_DAYS).astype(np.int32), mask=is_null).cast(pa.date32())
        case TimeType():
            return pa.array((wide % 86_400_000).astype(np.int32), mask=is_null).cast(arrow_type(data_type))
        case AnyTimestampType():
            limit = {"s": 10**10, "ms": 10**13, "us": 10**16, "ns": 4 * 10**18}[arrow_type(data_type).unit]
            return pa.array(wide % (2 * limit) - limit // 2, mask=is_null).cast(arrow_type(data_type))
    bits = arrow_type(data_type).bit_width
    return pa.array((wide >> np.int64(64 - bits)).astype(arrow_type(data_type).to_pandas_dtype()), mask=is_null)


def _integers(chance: Chance, count: int) -> npt.NDArray[np.int64]:
    """Integers of 64 bits of which half have all bits and half any number of them; never the smallest."""
    full = chance.integers(-(2**63) + 1, 2**63 - 1, count, endpoint=True)
    shifted = full >> chance.integers(0, 63, count)
    return np.where(chance.random(count) < 0.5, full, shifted)


@dataclass
class LookUps:
    """What was looked up in the indexes of one type over columns of one type."""

    values: int = 0
    conditions: int = 0
    missed: list[str] = field(default_factory=list)


def look_up_all(index: str, data_type: DataType, count: int, seed: int) -> LookUps:
    """Make indexes of so many values, a file's worth at a time, and look up each."""
    chance, found = np.random.default_rng((seed, count)), LookUps()
    rows_of_file = min(ROWS_OF_FILE, count) if index != "bloom-filter" else min(count, 50_000)
    number = 0
    while found.values < count:
        column = random_column(data_type, rows_of_file, chance)
        settings = dict(SMALL[index][number % len(SMALL[index])])
        if index == "bloom-filter":
            settings["items"] = rows_of_file
        reader = reader_of(index, data_type, built(index, data_type, column, settings), len(column))
        found.values += len(column) - column.null_count
        number += 1
        if not _all_may_be_there(index, reader, SoughtValues(data_type, column.drop_null())):
            found.missed.append(f"{index} over {data_type}, file {number}: a value is said to be absent")
        if INDEX_TYPES[index].finds_rows and number % ROWS_OF_FILES == 1:
            for leaf, expected in _questions(column, data_type, chance):
                found.conditions += 1
                if not _is_right(reader, condition_of(leaf, data_type), expected):
                    found.missed.append(f"{index} over {data_type}, file {number}: {str(leaf)[:200]}")
    return found


def _all_may_be_there(index: str, reader: IndexReader, values: SoughtValues) -> bool:
    # Of many values bit slices tell only those apart that are beyond the largest.
    few = FEW_VALUES if index == "bsi" else max(len(values), 1)
    parts = (values.values.slice(start, few) for start in range(0, len(values), few))
    return all(reader.may_equal(SoughtValues(values.data_type, part)).all() for part in parts)


def _questions(column: pa.Array, data_type: DataType, chance: Chance) -> Iterator[tuple[Leaf, npt.NDArray[np.int64]]]:
    """Conditions that name each value once, and the rows that meet them; found without any index."""
    # Both zeros are one value.
    zeroed = pc.add(column, pa.scalar(0, column.type)) if isinstance(data_type, FloatType | DoubleType) else column
    keys = keys_of(zeroed, data_type)
    codes = keys.dictionary_encode()
    places = codes.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    firsts = np.unique(places, return_index=True)
    distinct = values_of(column.take(pa.array(firsts[1])), data_type)
    known = [(int(code), value) for code, value in zip(firsts[0].tolist(), distinct, strict=True) if code >= 0]
    step = min(MAX_VALUES, 100)
    for start in range(0, len(known), step):
        some = known[start : start + step]
        yield In("a", tuple(value for _, value in some)), np.flatnonzero(np.isin(places, [code for code, _ in some]))
    ordered = codes.dictionary.to_pylist()
    ranks = np.empty(len(ordered) + 1, np.int64)
    ranks[np.array(sorted(range(len(ordered)), key=ordered.__getitem__), np.int64)] = np.arange(len(ordered))
    ranks[-1] = -1
    of_rows = ranks[places]
    for code, value in [known[n] for n in chance.integers(0, len(known), max(len(known) // SAMPLE, 1)).tolist()]:
        yield Compare("a", CompareOp.EQ, value), np.flatnonzero(places == code)
        yield Compare("a", CompareOp.LT, value), np.flatnonzero((of_rows >= 0) & (of_rows < ranks[code]))
        yield Compare("a", CompareOp.GE, value), np.flatnonzero(of_rows >= ranks[code])


def _is_right(reader: IndexReader, condition: Condition | None, expected: npt.NDArray[np.int64]) -> bool:
    if condition is None:
        return True
    match reader.evaluate(condition):
        case Skip():
            return len(expected) == 0
        case Unknown():
            return True
        case Rows(positions, is_exact):
            found = np.array(positions.to_array())
            return np.array_equal(found, expected) if is_exact else bool(np.isin(expected, found).all())


# --- false positives -------------------------------------------------------------------------------------------------

RATES = (0.2, 0.1, 0.05, 0.01, 0.001)


def most_of(data_type: DataType, fpp: float) -> float:
    """How many times its rate a filter may admit absent values.

    The bits of one value are a sum of two numbers. In a filter of a hundred values, as one of TINYINT is, two values
    meet in all of them once in some thousand times, whatever the rate.
    """
    if isinstance(data_type, TinyIntType):
        return 1.3 if fpp >= 0.01 else 8
    return 1.2


def false_positives(data_type: DataType, fpp: float, asked: int, seed: int) -> float:
    """The share of absent values that filters over as many values as they are made for admit."""
    chance = np.random.default_rng((seed, asked))
    admitted = tried = 0
    while tried < asked:
        pool = random_column(data_type, 40_000, chance).drop_null().unique()
        chosen = chance.permutation(len(pool))
        # At most half of the values that a narrow type has.
        items = min(10_000, len(pool) // 2)
        inside, outside = pool.take(pa.array(chosen[:items])), pool.take(pa.array(chosen[items:]))
        outside = outside.filter(pa.array(_are_absent(outside, inside, data_type)))
        payload = built("bloom-filter", data_type, inside, {"items": items, "fpp": fpp})
        reader = reader_of("bloom-filter", data_type, payload, items)
        admitted += int(reader.may_equal(SoughtValues(data_type, outside)).sum())
        tried += len(outside)
    return admitted / tried


def _are_absent(values: pa.Array, others: pa.Array, data_type: DataType) -> npt.NDArray[np.bool_]:
    """Values whose key differs from all others: several timestamps of 9 digits share one."""
    if isinstance(data_type, AnyTimestampType):
        keys, held = (np.array(keys_of(each, data_type)) for each in (values, others))
        return ~np.isin(keys, held)
    return np.ones(len(values), np.bool_)


def _shares(task: tuple[DataType, int, int]) -> dict[float, float]:
    """What filters of a type admit of absent values at each rate, in that rate."""
    data_type, asked, seed = task
    return {fpp: false_positives(data_type, fpp, asked, seed) / fpp for fpp in RATES}


def _look_ups(task: tuple[str, DataType, int, int]) -> tuple[LookUps, float]:
    """What was looked up, and the seconds it took."""
    began = time.monotonic()
    found = look_up_all(*task)
    return found, time.monotonic() - began


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--values", type=int, default=1_000_000, help="of each type and index")
    arguments.add_argument("--absent", type=int, default=200_000, help="absent values for each rate and type")
    arguments.add_argument("--processes", type=int, default=os.cpu_count())
    arguments.add_argument("--seed", type=int, default=0)
    chosen = arguments.parse_args()
    began, missed, counts = time.monotonic(), 0, Counter[str]()
    hashed = [data_type for index, data_type in PAIRS if index == "bloom-filter"]
    with ProcessPoolExecutor(chosen.processes, get_context("spawn")) as pool:
        looked_up = pool.map(_look_ups, [(*pair, chosen.values, chosen.seed) for pair in PAIRS])
        admitted = pool.map(_shares, [(each, chosen.absent, chosen.seed) for each in hashed])
        for (index, data_type), (found, seconds) in zip(PAIRS, looked_up, strict=True):
            missed += len(found.missed)
            counts["values"] += found.values
            counts["conditions"] += found.conditions
            told = f"{found.values} values, {found.conditions} conditions, {len(found.missed)} wrong in {seconds:.0f} s"
            shown = "\n  ".join(["", *found.missed[:5]])
            print(f"{index:13} {data_type!s:32} {told}{shown}", flush=True)
        for data_type, shares in zip(hashed, admitted, strict=True):
            missed += sum(share > most_of(data_type, fpp) for fpp, share in shares.items())
            shown = ", ".join(f"{share:.2f} x {fpp}" for fpp, share in shares.items())
            print(f"false positives over {data_type!s:32} {shown}", flush=True)
    print(f"{len(PAIRS)} pairs, {counts['values']} values, {counts['conditions']} conditions, {missed} wrong")
    print(f"{time.monotonic() - began:.0f} s in {chosen.processes} processes")
    raise SystemExit(bool(missed))


if __name__ == "__main__":
    main()
