"""Files without key columns, and formats by level: written according to the options, and read regardless of them."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from table_format.codecs.binary_row import deserialize_row
from table_format.errors import UnsupportedFeature
from table_format.formats.registry import format_of
from table_format.model.data_file import DataFileMeta
from table_format.model.types import ArrayType, DataField, DoubleType, IntType, VarCharType
from tests.formats.files import BUCKET, Bucket, a_batch, a_schema

KEYED = a_schema(
    DataField(0, "v", VarCharType()),
    DataField(1, "k", VarCharType(nullable=False)),
    DataField(2, "a", ArrayType(element=IntType())),
    keys=["k"],
)
PLAIN = a_schema(DataField(0, "v", VarCharType()), DataField(1, "d", DoubleType()))
LONG = "k" * 40


def rows(*keys: str) -> pa.RecordBatch:
    return a_batch(
        KEYED.physical_fields,
        [
            {"_KEY_k": k, "_SEQUENCE_NUMBER": i, "_VALUE_KIND": 0, "v": "v" * 40, "k": k, "a": [i]}
            for i, k in enumerate(keys)
        ],
    )


def columns_of(bucket: Bucket, file: DataFileMeta) -> tuple[str, ...]:
    with bucket.io.open_input(f"{BUCKET}/{file.file_name}") as source:
        return format_of(file.file_name).open_reader(source, file.file_name, use_threads=False).column_names


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_thin_files_lack_the_key_columns_and_are_described_as_if_they_had_them(file_format: str) -> None:
    bucket = Bucket([KEYED], {"data-file.thin-mode": "true", "file.format": file_format})
    (thin,) = bucket.write(rows("a", LONG))
    assert columns_of(bucket, thin) == ("_SEQUENCE_NUMBER", "_VALUE_KIND", "v", "k", "a")
    bucket.options = {"file.format": file_format}
    (thick,) = bucket.write(rows("a", LONG))
    assert columns_of(bucket, thick)[0] == "_KEY_k"
    for member in ("min_key", "max_key", "key_stats", "row_count", "min_sequence_number", "max_sequence_number"):
        assert getattr(thin, member) == getattr(thick, member)
    # Key columns are measured in full among the values, too, other columns as everywhere.
    types = [f.type.with_nullable(True) for f in KEYED.fields]
    assert deserialize_row(types, thin.value_stats.max_values)[:2] == ("v" * 15 + "w", LONG)
    assert bucket.read([thin]).equals(bucket.read([thick]))


def test_an_own_statistics_mode_of_a_thin_key_column_counts() -> None:
    bucket = Bucket([KEYED], {"data-file.thin-mode": "true", "fields.k.stats-mode": "counts"})
    (file,) = bucket.write(rows("a"))
    assert deserialize_row([VarCharType()], file.key_stats.min_values) == (None,)
    assert file.key_stats.null_counts == (0,)


def test_each_level_has_its_format_and_compression() -> None:
    options = {
        "file.format.per.level": "0:avro, 5:orc",
        "file.compression.per.level": "0:SNAPPY,5:zlib",
        "file.format": "parquet",
    }
    bucket = Bucket([KEYED], options)
    files = []
    for level in (0, 3, 5):
        writer = bucket.writer(level=level)
        writer.write(rows("a"))
        files += writer.close()
    assert [f.file_name.rpartition(".")[2] for f in files] == ["avro", "parquet", "orc"]
    assert b"snappy" in bucket.io.open_input(f"{BUCKET}/{files[0].file_name}").read()
    assert bucket.read(files).num_rows == 3


def test_append_tables_have_no_levels() -> None:
    bucket = Bucket([PLAIN], {"file.format.per.level": "0:avro", "file.format": "orc"})
    (file,) = bucket.write(a_batch(PLAIN.fields, [{"v": "x", "d": 0.5}]))
    assert file.file_name.endswith(".orc")
    assert bucket.read([file]).to_pylist() == [{"v": "x", "d": 0.5}]


@pytest.mark.parametrize(("file_format", "expected"), [("parquet", None), ("orc", 1), ("avro", 1)])
def test_null_counts_of_nested_columns_are_stated_where_java_states_them(
    file_format: str, expected: int | None
) -> None:
    bucket = Bucket([KEYED], {"file.format": file_format})
    with_null = [{**row, "a": [1] if row["k"] == "b" else None} for row in rows("a", "b").to_pylist()]
    nulls = a_batch(KEYED.physical_fields, with_null)
    (file,) = bucket.write(nulls)
    assert file.value_stats.null_counts == (0, 0, expected)


def test_a_file_is_read_by_its_extension_and_an_unknown_one_refused() -> None:
    bucket = Bucket([PLAIN], {"file.format": "avro"})
    (file,) = bucket.write(a_batch(PLAIN.fields, [{"v": "x", "d": 0.5}]))
    bucket.options = {"file.format": "parquet"}
    assert bucket.read([file]).num_rows == 1
    with pytest.raises(UnsupportedFeature, match="file format 'csv'"):
        bucket.read([replace(file, file_name="data-1.csv")])


@pytest.mark.parametrize("options", [{"file.format": "orc"}, {"file.format": "avro", "file.compression": "lz4"}])
def test_a_file_that_cannot_be_opened_leaves_nothing(options: dict[str, str]) -> None:
    bucket = Bucket([PLAIN], {"file.compression": "gzip", **options})
    writer = bucket.writer()
    with pytest.raises(UnsupportedFeature, match="compression"):
        writer.write(a_batch(PLAIN.fields, [{"v": "x", "d": 0.5}]))
    writer.abort()
    assert bucket.names == []
