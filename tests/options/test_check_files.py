"""Formats, compressions and types of data files that cannot be written are refused when a table is made or altered."""

from __future__ import annotations

from dataclasses import replace

import pytest

from table_format.errors import UnsupportedFeature
from table_format.model.schema import TableSchema
from table_format.model.types import (
    ArrayType,
    CharType,
    DataField,
    DataType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
)
from table_format.options.check import check_alterable, check_creatable, require
from table_format.options.declare import Operation
from table_format.options.table_options import TableOptions

KEY = DataField(0, "k", IntType(nullable=False))


def a_table(data_type: DataType | None = None, **options: str) -> TableSchema:
    given = {key.replace("__", "."): value for key, value in options.items()}
    return TableSchema(0, (KEY, DataField(1, "v", data_type or IntType())), 1, (), ("k",), {"bucket": "1", **given})


@pytest.mark.parametrize(
    "options",
    [
        {"file.format": "orc", "file.compression": "zlib", "data-file.thin-mode": "true"},
        {"file.format": "Avro", "avro.codec": "deflate"},
        {"file.format.per.level": "0:avro,5:ORC", "file.compression.per.level": "5:lz4", "orc.stripe.size": "1 mb"},
        {"file.format": "avro", "file.format.per.level": "5:parquet", "file.compression.per.level": "5:gzip"},
    ],
)
def test_what_can_be_written_is_accepted(options: dict[str, str]) -> None:
    schema = replace(a_table(), options={"bucket": "1", **options})
    check_creatable(schema)
    require(schema, TableOptions.parse(schema.options), Operation.WRITE)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"file.format": "json"}, "file.format"),
        ({"file.format.per.level": "0:csv"}, "0:csv"),
        ({"file.format": "orc", "file.compression": "gzip"}, "orc files=gzip"),
        ({"file.format": "avro", "avro.codec": "bzip2"}, "avro files=bzip2"),
        ({"file.format.per.level": "0:avro", "file.compression.per.level": "0:lz4"}, "avro files=lz4"),
        ({"file.compression": "brotli"}, "file.compression"),
        ({"orc.bloom.filter.columns": "v"}, "orc.bloom.filter.columns"),
        ({"avro.row-name-mapping": "a:b"}, "avro.row-name-mapping"),
        ({"manifest.format": "orc", "manifest.compression": "deflate"}, "orc manifests=deflate"),
    ],
)
def test_what_cannot_be_written_is_refused_by_name(options: dict[str, str], named: str) -> None:
    schema = replace(a_table(), options={"bucket": "1", **options})
    with pytest.raises(UnsupportedFeature) as refusal:
        check_creatable(schema)
    assert named in f"{refusal.value.feature} {refusal.value}"
    with pytest.raises(UnsupportedFeature):
        check_alterable(a_table(), schema, has_snapshots=False)


@pytest.mark.parametrize(
    "data_type",
    [
        TimestampType(9),
        LocalZonedTimestampType(7),
        TimeType(4),
        ArrayType(TimestampType(7)),
        MapType(IntType(nullable=False), TimestampType(7)),
        MultisetType(TimeType(9, nullable=False)),
        RowType((DataField(5, "x", TimeType(6)),)),
    ],
    ids=str,
)
def test_types_finer_than_avro_are_refused_where_avro_is_written(data_type: DataType) -> None:
    check_creatable(a_table(data_type, file__format="orc"))
    for options in ({"file__format": "avro"}, {"file__format__per__level": "0:avro"}):
        with pytest.raises(UnsupportedFeature, match=r"column 'v': .* in Avro files"):
            check_creatable(a_table(data_type, **options))
    avro = a_table(file__format="avro")
    with pytest.raises(UnsupportedFeature, match="column 'v'"):
        check_alterable(avro, replace(avro, fields=(KEY, DataField(1, "v", data_type))))


def test_a_char_that_orc_would_pad_to_a_megabyte_or_more_is_refused() -> None:
    fields = (DataField(0, "c", CharType((1 << 20) + 1)),)
    with pytest.raises(UnsupportedFeature, match=r"column 'c': CHAR\(1048577\) in ORC files .* VARCHAR or STRING"):
        check_creatable(TableSchema(0, fields, 0, options={"file.format": "orc"}))
    check_creatable(TableSchema(0, fields, 0))


def test_postponed_rows_are_avro_in_the_compression_of_level_0() -> None:
    fields = (DataField(0, "k", IntType(nullable=False)),)
    options = {"bucket": "-2", "file.compression.per.level": "0:lz4"}
    with pytest.raises(UnsupportedFeature, match="compression of avro files = 'lz4'"):
        check_creatable(TableSchema(0, fields, 0, primary_keys=("k",), options=options))
