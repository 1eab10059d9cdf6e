"""Indexes of new data files: their contents, their places, and their deletion together with their file."""

from __future__ import annotations

import threading
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from xxhash import xxh3_64_intdigest

from table_format.codecs.content_name import stated_hash
from table_format.codecs.file_index import decode_head, encode_file_index, head_length
from table_format.errors import InvalidOption
from table_format.formats import index_writer
from table_format.formats.index_writer import DataFileIndexWriter
from table_format.io.memory import MemoryFileIO
from table_format.kernels.file_index import INDEX_TYPES
from table_format.kernels.file_index.bloom_filter import BloomBuilder
from table_format.kernels.file_index.range_bitmap import RangeBitmaps
from table_format.model.data_file import DataFileMeta
from table_format.model.types import BigIntType, BooleanType, DataField, DataType, IntType, MapType, VarCharType
from table_format.options.declare import parse_group
from table_format.options.file_index import FileIndexOptions
from tests.formats.files import BUCKET, Bucket, a_batch, a_schema

COLUMNS = "file-index.bloom-filter.columns"
SMALL = {
    COLUMNS: "i,s",
    "file-index.bloom-filter.i.items": "20",
    "file-index.bloom-filter.s.items": "20",
    "file-index.bloom-filter.s.fpp": "0.01",
}
PLAIN = a_schema(DataField(0, "i", BigIntType()), DataField(1, "s", VarCharType()))
KEYED = a_schema(DataField(0, "v", VarCharType()), DataField(1, "k", IntType(nullable=False)), keys=["k"])
TEXT_MAP = MapType(VarCharType(nullable=False), VarCharType())


def plain(*numbers: int) -> pa.RecordBatch:
    return a_batch(PLAIN.fields, [{"i": n, "s": None if n % 2 else f"s{n}"} for n in numbers])


def keyed(*rows: tuple[int, int, str]) -> pa.RecordBatch:
    values = [
        {"_KEY_k": k, "_SEQUENCE_NUMBER": i, "_VALUE_KIND": kind, "v": v, "k": k} for i, (k, kind, v) in enumerate(rows)
    ]
    return a_batch(KEYED.physical_fields, values)


def bloom(data_type: DataType, values: list[Any], **settings: Any) -> bytes:
    builder = BloomBuilder(data_type, **settings)
    builder.add(pa.array(values, pa.string() if isinstance(data_type, VarCharType) else pa.int64()))
    return builder.finish()


def expected(numbers: range) -> bytes:
    return encode_file_index(
        {
            "i": {"bloom-filter": bloom(BigIntType(), list(numbers), items=20)},
            "s": {"bloom-filter": bloom(VarCharType(), [f"s{n}" for n in numbers if n % 2 == 0], items=20, fpp=0.01)},
        }
    )


def index_of(bucket: Bucket, file: DataFileMeta) -> bytes:
    if file.embedded_file_index is not None:
        assert file.extra_files == ()
        return file.embedded_file_index
    (name,) = file.extra_files
    assert name.startswith(file.file_name + ".")
    assert name.endswith(".index")
    data = bucket.io.read(f"{BUCKET}/{name}")
    assert stated_hash(name) == xxh3_64_intdigest(data)
    return data


def test_each_file_has_the_indexes_of_all_its_columns_in_one_container() -> None:
    bucket = Bucket([PLAIN], {**SMALL, "target-file-size": "1 b"})
    files = bucket.write(*(plain(*range(n, n + 10)) for n in (0, 10, 20)))
    assert [index_of(bucket, file) for file in files] == [expected(range(n, n + 10)) for n in (0, 10, 20)]


def test_an_index_lies_in_the_manifest_up_to_the_threshold_and_above_it_in_a_file() -> None:
    size = len(expected(range(10)))
    for threshold, is_embedded in ((size, True), (size - 1, False), (0, False)):
        bucket = Bucket([PLAIN], {**SMALL, "file-index.in-manifest-threshold": f"{threshold} b"})
        (file,) = bucket.write(plain(*range(10)))
        assert (file.embedded_file_index is not None) == is_embedded
        assert index_of(bucket, file) == expected(range(10))
        assert len(bucket.names) == 2 - is_embedded


@pytest.mark.parametrize("options", [{}, {"data-file.thin-mode": "true"}, {"file.format": "avro"}])
def test_indexes_contain_the_values_of_all_rows_including_retracts(options: dict[str, str]) -> None:
    bucket = Bucket([KEYED], {COLUMNS: "v", "file-index.bloom-filter.v.items": "10", **options})
    (file,) = bucket.write(keyed((1, 0, "a"), (2, 3, "b")))
    assert index_of(bucket, file) == encode_file_index(
        {"v": {"bloom-filter": bloom(VarCharType(), ["a", "b"], items=10)}}
    )


def test_changelog_files_have_no_index() -> None:
    bucket = Bucket([KEYED], {COLUMNS: "v"})
    writer = bucket.writer(changelog=True)
    writer.write(keyed((1, 0, "a")))
    (file,) = writer.close()
    assert (file.embedded_file_index, file.extra_files) == (None, ())
    assert bucket.names == [file.file_name]


def test_the_values_of_keys_of_a_map_are_indexed() -> None:
    schema = a_schema(DataField(0, "m", TEXT_MAP))
    options = parse_group(FileIndexOptions, {COLUMNS: "m[a],m[b]", "file-index.bloom-filter.m.items": "50"})
    writer = DataFileIndexWriter(schema, options)
    rows = [[("a", "x"), ("b", "y")], None, [("a", None)], [], [("c", "z")], [("b", "w"), ("a", "v")]]
    batch = pa.record_batch({"m": pa.array(rows, pa.map_(pa.string(), pa.string()))})
    writer.write(batch.slice(0, 3))
    writer.write(batch.slice(3))
    assert writer.finish() == encode_file_index(
        {
            "m[a]": {"bloom-filter": bloom(VarCharType(), ["x", "v"], items=50)},
            "m[b]": {"bloom-filter": bloom(VarCharType(), ["y", "w"], items=50)},
        }
    )


def test_one_container_has_several_indexes_of_several_columns() -> None:
    schema = a_schema(
        DataField(0, "i", BigIntType()), DataField(1, "s", VarCharType()), DataField(2, "b", BooleanType())
    )
    options = {
        "file-index.bloom-filter.columns": "i,s",
        "file-index.bloom-filter.i.items": "20",
        "file-index.bloom-filter.s.items": "20",
        "file-index.bitmap.columns": "s,b",
        "file-index.bitmap.s.version": "1",
        "file-index.bsi.columns": "i",
        "file-index.range-bitmap.columns": "i,s",
        "file-index.range-bitmap.s.chunk-size": "30 b",
    }
    rows = [{"i": n % 4, "s": None if n % 3 else f"s{n}", "b": n > 5} for n in range(12)]
    batch = a_batch(schema.fields, rows)
    for threshold, is_embedded in (("1 mb", True), ("0 b", False)):
        bucket = Bucket([schema], {**options, "file-index.in-manifest-threshold": threshold})
        (file,) = bucket.write(batch.slice(0, 7), batch.slice(7))
        assert (file.embedded_file_index is not None) == is_embedded
        data = index_of(bucket, file)
        length = head_length(data, path="f")
        assert length is not None
        places = decode_head(data[:length], path="f")
        assert {column: set(of_column) for column, of_column in places.items()} == {
            "i": {"bloom-filter", "bsi", "range-bitmap"},
            "s": {"bloom-filter", "bitmap", "range-bitmap"},
            "b": {"bitmap"},
        }
        for (column, name), settings in {
            ("s", "bitmap"): {"version": 1},
            ("b", "bitmap"): {},
            ("i", "bsi"): {},
            ("s", "range-bitmap"): {"chunk-size": 30},
        }.items():
            builder = INDEX_TYPES[name].builder(schema.field(column).type, settings)
            builder.add(batch.column(column))
            place = places[column][name]
            assert data[place.start : place.start + place.length] == builder.finish()


def test_an_index_that_cannot_hold_a_value_is_left_out() -> None:
    bucket = Bucket([PLAIN], {"file-index.bsi.columns": "i", "file-index.bitmap.columns": "s"})
    (file,) = bucket.write(a_batch(PLAIN.fields, [{"i": -(2**63), "s": "x"}]))
    data = index_of(bucket, file)
    length = head_length(data, path="f")
    assert length is not None
    assert {name: list(each) for name, each in decode_head(data[:length], path="f").items()} == {"s": ["bitmap"]}


def own_threads() -> set[threading.Thread]:
    """The threads that Python started. Arrow's own threads also appear, whenever one of them has run Python."""
    return {thread for thread in threading.enumerate() if not thread.name.startswith("Dummy-")}


@pytest.mark.parametrize("pending_bytes", [1, 1 << 30], ids=["with each batch", "at the end"])
def test_indexes_built_during_the_encoding_are_the_same_and_leave_no_thread(
    pending_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_writer, "_PENDING_BYTES", pending_bytes)
    bucket = Bucket([PLAIN], {"file-index.range-bitmap.columns": "i", "file-index.bitmap.columns": "s"})
    numbers = pa.array(range(30_000), pa.int64())
    batch = pa.record_batch([numbers, pc.cast(pc.bit_wise_and(numbers, 7), pa.string())], names=["i", "s"])
    threads = own_threads()
    writer = bucket.writer()
    for start in (0, 15_000):
        writer.write(batch.slice(start, 15_000))
        assert own_threads() == threads
    (file,) = writer.close()
    assert own_threads() == threads
    expected: dict[str, dict[str, bytes | None]] = {}
    for column, name in (("s", "bitmap"), ("i", "range-bitmap")):
        builder = INDEX_TYPES[name].builder(PLAIN.field(column).type, {})
        builder.add(batch.column(column))
        expected[column] = {name: builder.finish()}
    assert index_of(bucket, file) == encode_file_index(expected)


class _Failing:
    """A builder that fails because memory is exhausted."""

    def add(self, column: pa.Array) -> None:
        message = f"no room for {len(column)} rows"
        raise MemoryError(message)


def test_an_index_that_fails_during_the_encoding_fails_the_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RangeBitmaps, "builder", lambda *_: _Failing())
    bucket = Bucket([PLAIN], {"file-index.range-bitmap.columns": "i"})
    threads = own_threads()
    writer = bucket.writer()
    numbers = pa.array(range(20_000), pa.int64())
    writer.write(pa.record_batch([numbers, pa.nulls(20_000, pa.string())], names=["i", "s"]))
    with pytest.raises(MemoryError, match="20000 rows"):
        writer.close()
    writer.abort()
    assert bucket.names == []
    assert own_threads() == threads


def test_rows_without_a_key_of_a_map_are_null_in_its_bitmaps() -> None:
    schema = a_schema(DataField(0, "m", TEXT_MAP))
    options = parse_group(FileIndexOptions, {"file-index.bitmap.columns": "m[a]", "file-index.bitmap.m.version": "1"})
    writer = DataFileIndexWriter(schema, options)
    rows = [[("a", "x"), ("b", "y")], None, [("a", None)], [], [("c", "z")], [("b", "w"), ("a", "v")]]
    batch = pa.record_batch({"m": pa.array(rows, pa.map_(pa.string(), pa.string()))})
    writer.write(batch.slice(0, 3))
    writer.write(batch.slice(3))
    builder = INDEX_TYPES["bitmap"].builder(VarCharType(), {"version": 1})
    builder.add(pa.array(["x", None, None, None, None, "v"]))
    assert writer.finish() == encode_file_index({"m[a]": {"bitmap": builder.finish()}})


def test_an_aborted_file_leaves_no_index() -> None:
    bucket = Bucket([PLAIN], {**SMALL, "target-file-size": "1 b", "file-index.in-manifest-threshold": "1 b"})
    writer = bucket.writer()
    writer.write(plain(1))
    writer.write(plain(2))
    assert [name.endswith(".index") for name in bucket.names] == [False, True] * 2
    writer.abort()
    assert bucket.names == []


class FullDisk(MemoryFileIO):
    """A store with space for data files, but not for files that are written in one piece."""

    def create(self, path: str, data: bytes) -> None:
        super().create(path, data)
        raise OSError(path)


def test_an_index_that_cannot_be_stored_is_deleted_with_its_file() -> None:
    bucket = Bucket([PLAIN], {**SMALL, "file-index.in-manifest-threshold": "1 b"}, io=FullDisk())
    writer = bucket.writer()
    writer.write(plain(1))
    with pytest.raises(OSError, match="index"):
        writer.close()
    assert len(bucket.names) == 2
    writer.abort()
    assert bucket.names == []


def test_a_column_that_does_not_exist_or_cannot_be_indexed_is_named() -> None:
    schema = a_schema(DataField(0, "i", BigIntType()), DataField(1, "b", BooleanType()))
    for column, message in (("x", "column 'x' does not exist"), ("b", "column 'b' is BOOLEAN")):
        bucket = Bucket([schema], {COLUMNS: column})
        writer = bucket.writer()
        with pytest.raises(InvalidOption, match=message):
            writer.write(a_batch(schema.fields, [{"i": 1, "b": True}]))
        writer.abort()
        assert bucket.names == []


def test_the_default_filter_is_for_a_million_items() -> None:
    bucket = Bucket([PLAIN], {COLUMNS: "i"})
    (file,) = bucket.write(plain(1))
    data = index_of(bucket, file)
    length = head_length(data, path="f")
    assert length is not None
    assert decode_head(data[:length], path="f")["i"]["bloom-filter"].length == 4 + 4_792_536 // 8
