"""Strategies that draw types, values and facts of the format."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from hypothesis import settings
from hypothesis import strategies as st

from table_format.limits import MAX_SEQUENCE_NUMBER
from table_format.model.commit import CommitMessage
from table_format.model.data_file import DataFileMeta, FileSource, SimpleStats
from table_format.model.manifest import (
    DELETION_VECTORS,
    DeletionVectorRange,
    FileKind,
    IndexFileMeta,
    ManifestEntry,
    ManifestFileMeta,
)
from table_format.model.types import (
    MAX_LENGTH,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)

some_examples = settings(max_examples=60, deadline=None, derandomize=True)
"""The settings of the codecs' property tests: the same examples in each run, without a deadline."""

NANOS_OF_YEAR_1 = -62_135_596_800 * 10**9
NANOS_OF_YEAR_10000 = 253_402_300_800 * 10**9

_integers = {TinyIntType: 8, SmallIntType: 16, IntType: 32, BigIntType: 64, DateType: 32}
_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
_long = st.integers(-(1 << 63), (1 << 63) - 1)
_count = st.integers(0, (1 << 63) - 1)
_int = st.integers(-(1 << 31), (1 << 31) - 1)
_bucket = st.integers(-2, (1 << 31) - 1)
_sequence_number = st.integers(-1, MAX_SEQUENCE_NUMBER)
_name = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\\\0"), min_size=1).filter(
    lambda name: name not in (".", "..")
)


@st.composite
def decimal_types(draw) -> DecimalType:
    precision = draw(st.integers(1, 38))
    return DecimalType(precision, draw(st.integers(0, precision)))


def scalar_types() -> st.SearchStrategy[DataType]:
    """Every scalar type, with every precision."""
    plain = [BooleanType, TinyIntType, SmallIntType, IntType, BigIntType, FloatType, DoubleType, DateType, TimeType]
    precision = st.integers(0, 9)
    lengths = st.sampled_from([1, 7, 40, MAX_LENGTH])
    return st.one_of(
        st.sampled_from(plain).map(lambda kind: kind()),
        decimal_types(),
        precision.map(TimestampType),
        precision.map(LocalZonedTimestampType),
        *(lengths.map(kind) for kind in (CharType, VarCharType, BinaryType, VarBinaryType)),
    )


def values(t: DataType) -> st.SearchStrategy:
    """Internal values of a type that its Arrow type can hold, including null."""
    return st.none() | _present(t)


def _present(t: DataType) -> st.SearchStrategy:
    match t:
        case BooleanType():
            return st.booleans()
        case FloatType():
            return st.floats(width=32, allow_nan=False)
        case DoubleType():
            return st.floats(allow_nan=False)
        case TimeType():
            return st.integers(0, 86_399_999)
        case DecimalType(precision=precision, scale=scale):
            bound = 10**precision - 1
            return st.integers(-bound, bound).map(lambda unscaled: Decimal(f"{unscaled}E-{scale}"))
        case CharType() | VarCharType():
            return _text
        case BinaryType() | VarBinaryType():
            return st.binary(max_size=30)
        case TimestampType(precision=precision) | LocalZonedTimestampType(precision=precision):
            # In steps of the Arrow unit; nanoseconds are bounded by 64 bits.
            step = 10**9 if precision == 0 else 10**6 if precision <= 3 else 10**3 if precision <= 6 else 1
            low, high = NANOS_OF_YEAR_1, NANOS_OF_YEAR_10000
            if step == 1:
                low, high = -(1 << 63) + 1, (1 << 63) - 1
            return st.integers(low // step + 1, high // step - 1).map(lambda units: units * step)
    bits = _integers[type(t)]
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)


@st.composite
def rows(draw, *, min_columns: int = 0, max_columns: int = 8) -> tuple[list[DataType], list]:
    """Types, and one value of each."""
    types = draw(st.lists(scalar_types(), min_size=min_columns, max_size=max_columns))
    return types, [draw(values(t)) for t in types]


stats = st.builds(
    SimpleStats,
    min_values=st.binary(max_size=20),
    max_values=st.binary(max_size=20),
    null_counts=st.lists(st.none() | _count, max_size=4).map(tuple),
)

_any_data_file = st.builds(
    DataFileMeta,
    file_name=_name,
    file_size=_count,
    row_count=_count,
    min_key=st.binary(max_size=20),
    max_key=st.binary(max_size=20),
    key_stats=stats,
    value_stats=stats,
    min_sequence_number=_sequence_number,
    max_sequence_number=_sequence_number,
    schema_id=_count,
    level=st.integers(0, 100),
    extra_files=st.lists(_name, max_size=2).map(tuple),
    creation_time=st.none() | _long,
    delete_row_count=st.none() | _count,
    embedded_file_index=st.none() | st.binary(max_size=20),
    file_source=st.none() | st.sampled_from(FileSource),
    value_stats_cols=st.none() | st.lists(_text, max_size=2).map(tuple),
    external_path=st.none() | _text,
    first_row_id=st.none() | _count,
    write_cols=st.none() | st.lists(_text, max_size=2).map(tuple),
)


def _sound(file: DataFileMeta) -> DataFileMeta:
    """The file with consistent numbers, because readers refuse others."""
    low, high = sorted((file.min_sequence_number, file.max_sequence_number))
    deleted = None if file.delete_row_count is None else min(file.delete_row_count, file.row_count)
    return replace(file, min_sequence_number=low, max_sequence_number=high, delete_row_count=deleted)


data_files = _any_data_file.map(_sound)

_ranges = st.builds(
    DeletionVectorRange,
    data_file=_name,
    offset=st.integers(0, (1 << 31) - 1),
    length=st.integers(0, (1 << 31) - 1),
    cardinality=st.none() | _count,
)

_index_files = {
    "file_name": _name,
    "file_size": _count,
    "row_count": _count,
    "external_path": st.none() | _text,
}
index_files = st.builds(IndexFileMeta, index_type=_text, deletion_vector_ranges=st.none(), **_index_files) | st.builds(
    IndexFileMeta,
    index_type=st.just(DELETION_VECTORS),
    deletion_vector_ranges=st.lists(_ranges, max_size=2).map(tuple),
    **_index_files,
)

manifest_entries = st.builds(
    ManifestEntry,
    kind=st.sampled_from(FileKind),
    partition=st.binary(max_size=20),
    bucket=_bucket,
    total_buckets=_bucket,
    file=data_files,
)

manifest_files = st.builds(
    ManifestFileMeta,
    file_name=_name,
    file_size=_count,
    num_added_files=_count,
    num_deleted_files=_count,
    partition_stats=stats,
    schema_id=_count,
    **dict.fromkeys(("min_bucket", "max_bucket", "min_level", "max_level"), st.none() | _int),
    **dict.fromkeys(("min_row_id", "max_row_id"), st.none() | _count),
)

_file_lists = ("new_files", "deleted_files", "changelog_files", "compact_before", "compact_after")
_index_file_lists = (
    "new_index_files",
    "deleted_index_files",
    "compact_new_index_files",
    "compact_deleted_index_files",
)
commit_messages = st.builds(
    CommitMessage,
    partition=st.binary(max_size=20),
    bucket=_int,
    total_buckets=_int,
    hash_index_base=st.none() | st.binary(max_size=20),
    key_places_base=st.none() | st.text(max_size=20),
    key_places_after=st.lists(st.text(max_size=20), max_size=2).map(tuple),
    levels_base=st.none() | st.binary(max_size=20),
    schema_id=st.none() | st.integers(0, 2**40),
    schemas=st.lists(st.text(max_size=20), max_size=2).map(tuple),
    made_ms=st.none() | st.integers(0, 2**50),
    rewrites=st.booleans(),
    compact_changelog_files=st.lists(data_files, max_size=1).map(tuple),
    **dict.fromkeys(_file_lists, st.lists(data_files, max_size=2).map(tuple)),
    **dict.fromkeys(_index_file_lists, st.lists(index_files, max_size=2).map(tuple)),
)
