"""Option values are stored in the form that readers in Java parse."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from table_format.errors import InvalidOption
from table_format.model.schema import TableSchema
from table_format.model.types import DataField, IntType
from table_format.options.check import check_creatable
from table_format.options.check_files import check_files
from table_format.options.stored_text import stored_options
from table_format.options.table_options import TableOptions

_FIELDS = (DataField(0, "k", IntType(nullable=False)), DataField(1, "v", IntType()))


@pytest.mark.parametrize(
    ("key", "written", "stored"),
    [
        ("bucket", " 4 ", "4"),
        ("write-only", " TRUE", "TRUE"),
        ("merge-engine", "partial_update", "partial-update"),
        ("changelog-producer", "FULL_COMPACTION", "full-compaction"),
        ("partition.expiration-strategy", " UPDATE_TIME ", "update-time"),
        ("tag.period-formatter", "without_dashes", "without_dashes"),
        ("snapshot.time-retained", "P1D", "1 d"),
        ("snapshot.time-retained", "PT1H", "1 h"),
        ("snapshot.time-retained", " 90 s ", "90 s"),
        ("target-file-size", "128mb", "128mb"),
        ("orc.stripe.size", "32 mb", "33554432"),
        ("orc.compress.size", "64kb", "65536"),
        ("sequence.field", "a, b", "a,b"),
        ("fields.t.list-agg-delimiter", " ", " "),
        ("file.format.per.level", "0: avro , 5:parquet", "0:avro,5:parquet"),
        ("file.compression", "none", "uncompressed"),
        ("file.compression", "Zstandard", "zstd"),
        ("file.compression", " Snappy ", "snappy"),
        ("file.compression.per.level", "0: Snappy ", "0:snappy"),
        ("manifest.compression", "none", "null"),
        ("manifest.compression", "DEFLATE", "deflate"),
        ("avro.codec", "uncompressed", "null"),
        ("avro.codec", "ZSTD", "zstandard"),
        ("orc.compress", "uncompressed", "none"),
        ("changelog-file.compression", "none", "uncompressed"),
        ("file.compression.per.level", "0:none", "0:uncompressed"),
        ("data-file.path-directory", "/data/", "data"),
        ("bucket", "many", "many"),
        ("of.others", " x ", " x "),
    ],
)
def test_a_value_is_stored_in_the_strict_form(key: str, written: str, stored: str) -> None:
    assert stored_options({key: written}) == {key: stored}
    assert stored_options({key: stored}) == {key: stored}


@pytest.mark.parametrize(
    ("options", "stored"),
    [
        ({"file.format": "avro"}, "null"),
        ({"file.format": "orc"}, "none"),
        ({"file.format": "parquet"}, "uncompressed"),
    ],
)
def test_no_compression_is_stored_in_the_word_of_the_file_format(options: dict[str, str], stored: str) -> None:
    assert stored_options({**options, "file.compression": "none"})["file.compression"] == stored
    of_manifests = {"manifest.format": options["file.format"], "manifest.compression": "none"}
    assert stored_options(of_manifests)["manifest.compression"] == stored


def test_a_change_of_the_format_changes_the_word_for_no_compression() -> None:
    options = {"file.format": "avro", "file.compression": "uncompressed", "bucket": " 1 "}
    assert stored_options(options, changed=("file.format",)) == {**options, "file.compression": "null"}


def test_levels_of_two_formats_have_no_word_for_no_compression_in_common() -> None:
    options = stored_options({"bucket": "1", "file.format.per.level": "0:avro", "file.compression": "none"})
    with pytest.raises(InvalidOption, match=r"files of avro and parquet have different words for no compression"):
        check_creatable(TableSchema(0, _FIELDS, 1, primary_keys=("k",), options=options))
    levels = {"file.compression.per.level": "0:none", "file.format.per.level": "0:avro", "bucket": "1"}
    assert stored_options(levels)["file.compression.per.level"] == "0:null"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"changelog-file.format": "orc"}, r"orc and parquet .*set 'changelog-file.compression'"),
        (
            {"changelog-file.format": "parquet", "file.format": "avro"},
            r"avro and parquet .*'changelog-file.compression'",
        ),
        ({"changelog-file.format": "orc", "changelog-producer": "none"}, None),
        ({"changelog-file.format": "orc", "changelog-file.compression": "none"}, None),
        ({"changelog-file.format": "parquet", "file.format": "orc"}, None),  # Parquet knows the word of ORC
        (
            {
                "file.format.per.level": "0:avro",
                "file.compression": "zstd",
                "file.compression.per.level": "0:none",
                "changelog-file.compression": "none",
            },
            r"'changelog-file.compression': files of avro and parquet",
        ),
    ],
)
def test_changelogs_and_data_of_two_formats_need_one_word_for_no_compression(
    options: dict[str, str], reason: str | None
) -> None:
    given = {"bucket": "1", "changelog-producer": "input", "file.compression": "none", **options}
    schema = TableSchema(0, _FIELDS, 1, primary_keys=("k",), options=stored_options(given))
    with nullcontext() if reason is None else pytest.raises(InvalidOption, match=reason):
        check_files(schema, TableOptions.parse(schema.options))
