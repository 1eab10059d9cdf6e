"""The columnar test refuses only files that the test of single files also refuses."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from table_format.codecs.binary_row import serialize_row
from table_format.codecs.manifest_avro import encode_manifest
from table_format.codecs.manifest_columns import ManifestColumns, decode_manifest_columns
from table_format.kernels.bounds import may_match
from table_format.model.data_file import EMPTY_ROW, DataFileMeta, SimpleStats
from table_format.model.manifest import FileKind, ManifestEntry
from table_format.model.predicate import And, Compare, CompareOp, In, Or, Predicate, columns_of
from table_format.model.schema import TableSchema
from table_format.model.types import BigIntType, DataField, DateType, DoubleType, IntType, TinyIntType, VarCharType
from table_format.pruning.file_bounds import FileBounds
from table_format.pruning.refused_files import refusal_by_keys, refusal_by_values

TYPES = (TinyIntType(), IntType(), BigIntType(), DateType(), VarCharType(), DoubleType())
SCHEMA = TableSchema(
    id=0,
    fields=tuple(DataField(i, f"c{i}", t) for i, t in enumerate(TYPES)),
    highest_field_id=9,
    primary_keys=("c2", "c4"),
)
SCHEMAS = {0: SCHEMA}
KEYS = (BigIntType(), VarCharType())
_OPS = [op for op in CompareOp if op.value in ("=", "<>", "<", "<=", ">", ">=")]
_TEXTS = ["", "a", "b", "ab", "é", "a longer text", "a longer texu", "z\U0001f600", "zebra crossing"]
_BEYOND = [2**70, -(2**63), 127, 128, 1.5, True]


def value(draw: Random, column: int) -> Any:
    """Return a value from a small set, so that values often coincide."""
    number = draw.randint(-9, 9)
    return draw.choice(_TEXTS) if column == 4 else float(number) if column == 5 else number


def literal(draw: Random, column: int) -> Any:
    is_odd = column != 4 and draw.random() < 0.1
    return draw.choice(_BEYOND) if is_odd else value(draw, column)


def condition(draw: Random, columns: Sequence[int], depth: int = 0) -> Predicate:
    if depth < 2 and draw.random() < 0.4:
        parts = tuple(condition(draw, columns, depth + 1) for _ in range(draw.randint(1, 3)))
        return draw.choice([And, Or])(parts)
    column = draw.choice(columns)
    if draw.random() < 0.2:
        return In(f"c{column}", tuple(literal(draw, column) for _ in range(draw.randint(0, 3))))
    return Compare(f"c{column}", draw.choice(_OPS), literal(draw, column))


def stats(draw: Random, columns: Sequence[int]) -> SimpleStats:
    types = [TYPES[column] for column in columns]
    pairs = [
        (None, None) if draw.random() < 0.1 else sorted(value(draw, column) for _ in range(2)) for column in columns
    ]
    nulls = tuple(draw.choice([0, 0, 5, None]) for _ in columns)
    lows, highs = zip(*pairs, strict=True)
    return SimpleStats(serialize_row(types, lows), serialize_row(types, highs), nulls)


def entry(draw: Random) -> ManifestEntry:
    covered = draw.choice([None, None, ("c0", "c4"), ("c3",)])
    columns = range(6) if covered is None else [int(name[1]) for name in covered]
    file = DataFileMeta(
        file_name="f.parquet",
        file_size=1,
        row_count=draw.choice([5, 9]),
        min_key=EMPTY_ROW,
        max_key=EMPTY_ROW,
        key_stats=stats(draw, (2, 4)),
        value_stats=stats(draw, columns),
        min_sequence_number=0,
        max_sequence_number=0,
        schema_id=0,
        level=0,
        value_stats_cols=covered,
    )
    return ManifestEntry(FileKind.ADD, EMPTY_ROW, 0, 1, file)


def in_columns(files: list[ManifestEntry]) -> tuple[ManifestColumns, np.ndarray]:
    columns = decode_manifest_columns(encode_manifest(files), path="m")
    return columns, np.arange(len(files))


@pytest.mark.parametrize("by_keys", [True, False])
def test_the_columnar_test_agrees_with_the_test_of_single_files(by_keys: bool) -> None:
    draw = Random(7)
    files = [entry(draw) for _ in range(60)]
    columns, rows = in_columns(files)
    # The bounds of a column without values are contradictory, so the test of single files uses the null count.
    is_sound = [all(5 not in s.null_counts for s in (e.file.key_stats, e.file.value_stats)) for e in files]
    refused = of_all = passed = 0
    for _ in range(300):
        wanted = condition(draw, (2, 4) if by_keys else range(6))
        refusal = (refusal_by_keys if by_keys else refusal_by_values)(wanted, SCHEMA, SCHEMAS)
        bounds = FileBounds(SCHEMA, SCHEMAS, columns_of(wanted))
        bounds_of: Callable[[DataFileMeta], Any] = bounds.of_keys if by_keys else bounds.of_values
        expected = [not may_match(wanted, bounds_of(each.file)) for each in files]
        sifted = refusal(columns, rows)
        found = sifted.refused.tolist()
        assert all(exact for exact, quick in zip(expected, found, strict=True) if quick), wanted
        quick_passes = [quick and sound for quick, sound in zip(sifted.passed.tolist(), is_sound, strict=True)]
        assert not any(exact for exact, quick in zip(expected, quick_passes, strict=True) if quick), wanted
        passed += sum(quick_passes)
        refused += sum(found)
        of_all += sum(expected)
    assert refused > 0.5 * of_all > 1000
    assert passed > 300


def one(low: object, high: object, column: int = 4) -> ManifestEntry:
    lows, highs = ([value if i == column else None for i in range(6)] for value in (low, high))
    file = DataFileMeta(
        file_name="f",
        file_size=1,
        row_count=5,
        min_key=EMPTY_ROW,
        max_key=EMPTY_ROW,
        key_stats=SimpleStats(EMPTY_ROW, EMPTY_ROW, ()),
        value_stats=SimpleStats(serialize_row(TYPES, lows), serialize_row(TYPES, highs), (0,) * 6),
        min_sequence_number=0,
        max_sequence_number=0,
        schema_id=0,
        level=0,
    )
    return ManifestEntry(FileKind.ADD, EMPTY_ROW, 0, 1, file)


def test_short_and_long_texts_refuse_files() -> None:
    files = [one("a", "b"), one("a longer text", "a still longer text"), one("z", "zebra crossing"), one(None, None)]
    refusal = refusal_by_values(Compare("c4", CompareOp.EQ, "a sea"), SCHEMA, SCHEMAS)
    assert refusal(*in_columns(files)).refused.tolist() == [False, False, True, False]


def test_a_literal_beyond_the_type_of_the_column_refuses_files() -> None:
    files = [one(-5, 5, column=0)]
    cases = (("=", 2**70, True), ("<", 2**70, False), (">", 2**70, True), (">=", -(2**70), False))
    for op, literal, is_refused in cases:
        refusal = refusal_by_values(Compare("c0", CompareOp(op), literal), SCHEMA, SCHEMAS)
        assert refusal(*in_columns(files)).refused.tolist() == [is_refused]


def test_malformed_statistics_refuse_nothing() -> None:
    sound = one(1, 2, column=1)
    for damaged in (b"", b"\0\0\0\6", sound.file.value_stats.min_values[:-60], b"\0\0\0\7" + bytes(80)):
        broken = replace(sound, file=replace(sound.file, value_stats=SimpleStats(damaged, damaged, ())))
        refusal = refusal_by_values(Compare("c1", CompareOp.EQ, 9), SCHEMA, SCHEMAS)
        assert refusal(*in_columns([broken, sound])).refused.tolist() == [False, True]


def test_entries_that_were_not_decoded_to_columns_are_left_to_the_test_of_single_files() -> None:
    columns = ManifestColumns.of([one(1, 2, column=1)])
    refusal = refusal_by_values(Compare("c1", CompareOp.EQ, 9), SCHEMA, SCHEMAS)
    found = refusal(columns, np.arange(1))
    assert (found.refused.tolist(), found.passed.tolist()) == ([False], [False])


@pytest.mark.parametrize("kind", [In, Or])
def test_the_memory_does_not_grow_with_the_number_of_values_times_the_number_of_files(kind: type) -> None:
    files = [one(4 * i, 4 * i + 1, column=1) for i in range(1000)]
    values = tuple(4 * i + 2 for i in range(1500))
    wanted = In("c1", values) if kind is In else Or(tuple(Compare("c1", CompareOp.EQ, value) for value in values))
    columns, rows = in_columns(files)
    refusal = refusal_by_values(wanted, SCHEMA, SCHEMAS)
    tracemalloc.start()
    try:
        assert refusal(columns, rows).refused.all()
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
