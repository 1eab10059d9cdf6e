"""A broken file is an error that names it; where checksums exist, it never yields wrong rows."""

from __future__ import annotations

import random
import subprocess
import sys
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest

from table_format.errors import BadEncoding, CorruptionError, MissingFile, Truncated
from table_format.formats.thrift_compact import decode_struct
from table_format.model.types import (
    ArrayType,
    BigIntType,
    BooleanType,
    DataField,
    DoubleType,
    IntType,
    MapType,
    TimestampType,
    VarCharType,
)
from table_format.options.files import FileOptions
from tests.formats.files import BUCKET, Bucket, a_batch, a_schema, parquet_bytes, read_parquet

FIELDS = (
    DataField(0, "id", BigIntType(nullable=False)),
    DataField(1, "s", VarCharType()),
    DataField(2, "d", DoubleType()),
    DataField(3, "a", ArrayType(element=IntType())),
    DataField(4, "t", TimestampType(precision=9)),
    DataField(5, "b", BooleanType()),
    DataField(6, "m", MapType(key=VarCharType(nullable=False), value=IntType())),
)
ROWS = 300


@cache
def a_file(compression: str) -> tuple[bytes, pa.Table]:
    rows = [
        {
            "id": i,
            "s": None if i % 7 == 0 else f"group {i % 5}",
            "d": i / 2,
            "a": None if i % 3 == 0 else [i, None],
            "t": i * 10**15,
            "b": i % 2 == 0,
            "m": [("x", i)],
        }
        for i in range(ROWS)
    ]
    batch = a_batch(FIELDS, rows)
    data, _ = parquet_bytes(FIELDS, batch, options=FileOptions(compression=compression, block_size=8_000))
    table = pa.Table.from_batches([batch])
    assert read_parquet(data, FIELDS).equals(table)
    return data, table


@pytest.mark.parametrize("compression", ["zstd", "none"])
def test_no_truncated_file_can_be_read(compression: str) -> None:
    data, _ = a_file(compression)
    for length in range(0, len(data), 41):
        with pytest.raises(BadEncoding, match=r"/f\.parquet"):
            read_parquet(data[:length], FIELDS)


@pytest.mark.parametrize("compression", ["zstd", "none"])
def test_no_flipped_bit_gives_wrong_rows(compression: str) -> None:
    data, table = a_file(compression)
    chance = random.Random(7)
    outcomes = {"refused": 0, "harmless": 0}
    for _ in range(600):
        broken = bytearray(data)
        broken[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        try:
            found = read_parquet(bytes(broken), FIELDS)
        except CorruptionError as error:
            assert error.path == "/f.parquet"  # noqa: PT017
            outcomes["refused"] += 1
        else:
            assert found.equals(table)
            outcomes["harmless"] += 1
    # Harmless are bits nobody reads: names of encodings, sizes that are only hints, statistics.
    assert outcomes["refused"] > 400


def test_no_flipped_bit_of_a_footer_crashes_the_process() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "tests.formats.footer_flips"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    refused = int(found.stdout.split()[0])
    assert refused > 1000


def test_a_missing_file_is_named() -> None:
    bucket = Bucket([a_schema(*FIELDS)])
    (file,) = bucket.write(a_file("zstd")[1].to_batches()[0])
    bucket.io.delete(f"{BUCKET}/{file.file_name}")
    with pytest.raises(MissingFile, match=file.file_name):
        bucket.read([file])


def test_a_file_of_another_size_is_not_opened() -> None:
    bucket = Bucket([a_schema(*FIELDS)])
    (file,) = bucket.write(a_file("zstd")[1].to_batches()[0])
    path = f"{BUCKET}/{file.file_name}"
    data = bucket.io.read(path)
    bucket.io.overwrite(path, data + b"!")
    with pytest.raises(Truncated) as refusal:
        bucket.read([file])
    assert (refusal.value.expected_bytes, refusal.value.found_bytes) == (len(data), len(data) + 1)


def test_a_file_that_is_not_a_parquet_file_is_named() -> None:
    with pytest.raises(BadEncoding, match=r"/f\.parquet: not a valid Parquet file"):
        read_parquet(b"PAR1" + b"x" * 100 + b"PAR1", FIELDS)
    with pytest.raises(BadEncoding):
        read_parquet(b"", FIELDS)


def test_a_column_of_another_type_than_the_schema_says_is_refused() -> None:
    data, _ = parquet_bytes(FIELDS[1:2], a_batch(FIELDS[1:2], [{"s": "not a number"}]))
    with pytest.raises(BadEncoding, match="not a number"):
        read_parquet(data, [DataField(1, "s", IntType())])


@pytest.mark.parametrize("data", [b"", b"\x15", b"\x19\xfc\xff\xff\xff\x0f", b"\x18\xff\x01", b"\x1c" * 100, b"\x1d\0"])
def test_bytes_that_are_not_a_footer_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="thrift"):
        decode_struct(data)
