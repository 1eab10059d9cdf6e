"""Names of tables and their files: right for Java, and never outside the root."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_format.errors import BadEncoding, InvalidData, InvalidIdentifier, UnsupportedFeature
from table_format.io import paths
from table_format.io.paths import TablePaths, partition_text
from table_format.model.data_file import EMPTY_ROW, EMPTY_STATS, DataFileMeta
from table_format.model.types import (
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DataField,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarCharType,
)

DAY = 86_400 * 10**9
JANUARY_1_2024 = 19_723 * DAY
AT_10_20 = JANUARY_1_2024 + (10 * 3600 + 20 * 60) * 10**9
AT_10_20_30 = AT_10_20 + 30 * 10**9
STRING = VarCharType()


def data_file(name="data-u-0.parquet", **changes):
    facts = {
        "file_name": name,
        "file_size": 1,
        "row_count": 1,
        "min_key": EMPTY_ROW,
        "max_key": EMPTY_ROW,
        "key_stats": EMPTY_STATS,
        "value_stats": EMPTY_STATS,
        "min_sequence_number": 0,
        "max_sequence_number": 0,
        "schema_id": 0,
        "level": 0,
    }
    return DataFileMeta(**(facts | changes))


# The third column are directory names made by Apache Paimon 0.9.0 and 1.4.2.
@pytest.mark.parametrize(
    ("data_type", "value", "text"),
    [
        (STRING, '"q"\'s', "%22q%22%27s"),
        (STRING, "#?&*", "%23%3F&%2A"),
        (STRING, "{a}[b]", "%7Ba%7D%5Bb%5D"),
        (STRING, "100%", "100%25"),
        (STRING, None, "__DEFAULT_PARTITION__"),
        (STRING, "", "__DEFAULT_PARTITION__"),
        (STRING, " \t\u2003", "__DEFAULT_PARTITION__"),
        (STRING, "\u00a0", "\u00a0"),
        (STRING, "a b", "a b"),
        (STRING, "a\x7fb", "a%7Fb"),
        (STRING, "back\\slash", "back%5Cslash"),
        (STRING, "tab\tx", "tab%09x"),
        (STRING, "~!@$^()", "~!@$%5E()"),
        (STRING, "中文", "中文"),
        (STRING, "😀", "😀"),
        (STRING, "..", ".."),
        (STRING, "../../x", "..%2F..%2Fx"),
        (STRING, "nul\0", "nul%00"),
        (CharType(length=5), "ab", "ab"),
        (BooleanType(), True, "true"),
        (BooleanType(), False, "false"),
        (TinyIntType(), -128, "-128"),
        (IntType(), 0, "0"),
        (BigIntType(), -(2**63), "-9223372036854775808"),
        (DecimalType(precision=5, scale=2), Decimal("1.50"), "1.50"),
        (DecimalType(precision=5, scale=2), Decimal("-0.01"), "-0.01"),
        (DecimalType(precision=38, scale=5), Decimal("-123456789012345678901234.50000"),
         "-123456789012345678901234.50000"),
        (DecimalType(precision=10, scale=8), Decimal("1E-8"), "0.00000001"),
        (DoubleType(), 1e20, "1.0E20"),
        (DoubleType(), -0.25, "-0.25"),
        (DoubleType(), 9999999.0, "9999999.0"),
        (DoubleType(), 1e7, "1.0E7"),
        (DoubleType(), 0.001, "0.001"),
        (DoubleType(), 0.00012, "1.2E-4"),
        (DoubleType(), 0.0, "0.0"),
        (DoubleType(), float("nan"), "NaN"),
        (DoubleType(), float("-inf"), "-Infinity"),
        (FloatType(), 0.10000000149011612, "0.1"),
        (FloatType(), 3.4028234663852886e38, "3.4028235E38"),
        (DateType(), -1, "-1"),
        (DateType(), 19753, "19753"),
        (TimeType(precision=0), 37_230_000, "37230000"),
        (TimestampType(precision=0), JANUARY_1_2024, "2024-01-01T00%3A00"),
        (TimestampType(precision=0), AT_10_20_30, "2024-01-01T10%3A20%3A30"),
        (TimestampType(precision=3), AT_10_20_30 + 120_000_000, "2024-01-01T10%3A20%3A30.120"),
        (TimestampType(precision=6), JANUARY_1_2024 + 1_000, "2024-01-01T00%3A00%3A00.000001"),
        (TimestampType(precision=6), AT_10_20, "2024-01-01T10%3A20"),
        (TimestampType(precision=9), AT_10_20 + 1, "2024-01-01T10%3A20%3A00.000000001"),
        (TimestampType(precision=3), -1_000_000, "1969-12-31T23%3A59%3A59.999"),
        (TimestampType(precision=0), 253_402_300_800 * 10**9, "+10000-01-01T00%3A00"),
        (TimestampType(precision=0), -62_167_305_600 * 10**9, "-0001-12-31T00%3A00"),
        (LocalZonedTimestampType(precision=3), AT_10_20_30 + 120_000_000, "2024-01-01T10%3A20%3A30.120"),
    ],
)  # fmt: skip
def test_a_partition_value_has_the_directory_name_java_gives_it(data_type, value, text):
    assert partition_text([DataField(0, "p", data_type)], [value]) == f"p={text}"


@pytest.mark.parametrize(
    ("data_type", "value", "text"),
    [
        (DateType(), -1, "1969-12-31"),
        (DateType(), 19753, "2024-01-31"),
        (TimeType(precision=0), 37_230_000, "10%3A20%3A30"),
        (TimestampType(precision=0), JANUARY_1_2024, "2024-01-01 00%3A00%3A00"),
        (TimestampType(precision=3), JANUARY_1_2024, "2024-01-01 00%3A00%3A00.000"),
        (TimestampType(precision=6), JANUARY_1_2024 + 1_000, "2024-01-01 00%3A00%3A00.000001"),
        (TimestampType(precision=6), AT_10_20, "2024-01-01 10%3A20%3A00.000000"),
        (LocalZonedTimestampType(precision=3), AT_10_20_30 + 120_000_000, "2024-01-01 10%3A20%3A30.120"),
        (DecimalType(precision=5, scale=2), Decimal("1.50"), "1.50"),
        (DoubleType(), 1e20, "1.0E20"),
        (BooleanType(), False, "false"),
        (BinaryType(length=2), b"ab", "ab"),
        (STRING, None, "__DEFAULT_PARTITION__"),
    ],
)
def test_without_legacy_names_a_partition_value_is_the_cast_to_a_string(data_type, value, text):
    assert partition_text([DataField(0, "p", data_type)], [value], legacy=False) == f"p={text}"


def test_keys_follow_each_other_are_escaped_and_null_has_the_name_of_the_option():
    fields = [DataField(0, "a/b", STRING), DataField(1, "hh", IntType())]
    assert partition_text(fields, [None, 3], default_name="__NONE__") == "a%2Fb=__NONE__/hh=3"
    assert partition_text([], []) == ""


def test_binary_partitions_have_no_legacy_name():
    with pytest.raises(UnsupportedFeature, match="legacy-name"):
        partition_text([DataField(0, "p", BinaryType(length=2))], [b"ab"])


def test_a_value_of_another_type_or_without_utf_8_form_is_refused():
    with pytest.raises(InvalidData, match="is not a value"):
        partition_text([DataField(0, "p", DateType())], [b"x"])
    with pytest.raises(InvalidData, match="surrogate"):
        partition_text([DataField(0, "p", STRING)], ["\ud800"])


@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_no_partition_value_leads_out_of_the_table(value, key):
    text = partition_text([DataField(0, key, STRING)], [value])
    directory = TablePaths("/w/db.db/t").bucket_directory(text, 0)
    assert re.fullmatch(r"/w/db\.db/t/[^/\0]+/bucket-0", directory, re.DOTALL)
    assert paths.is_plain_path(directory)


def test_the_layout_of_a_table_is_the_one_of_the_format():
    table = TablePaths("/w/shop.db/orders")
    assert [table.snapshot(3), table.latest_hint, table.earliest_hint, table.schema(0), table.tag("t1")] == [
        "/w/shop.db/orders/snapshot/snapshot-3",
        "/w/shop.db/orders/snapshot/LATEST",
        "/w/shop.db/orders/snapshot/EARLIEST",
        "/w/shop.db/orders/schema/schema-0",
        "/w/shop.db/orders/tag/tag-t1",
    ]
    assert [table.manifest("m"), table.index("i"), table.statistics("s"), table.consumer("c"), table.changelog(2)] == [
        "/w/shop.db/orders/manifest/m",
        "/w/shop.db/orders/index/i",
        "/w/shop.db/orders/statistics/s",
        "/w/shop.db/orders/consumer/consumer-c",
        "/w/shop.db/orders/changelog/changelog-2",
    ]
    assert table.bucket_directory("", 0) == "/w/shop.db/orders/bucket-0"
    assert table.bucket_directory("", paths.POSTPONE_BUCKET) == "/w/shop.db/orders/bucket-postpone"


def test_a_branch_has_its_own_snapshots_and_shares_the_files():
    branch = TablePaths("/w/shop.db/orders").for_branch("dev")
    assert branch.snapshot(3) == "/w/shop.db/orders/branch/branch-dev/snapshot/snapshot-3"
    assert branch.schema(0) == "/w/shop.db/orders/branch/branch-dev/schema/schema-0"
    assert branch.tag("t") == "/w/shop.db/orders/branch/branch-dev/tag/tag-t"
    assert branch.consumer("c") == "/w/shop.db/orders/branch/branch-dev/consumer/consumer-c"
    assert branch.manifest("m") == "/w/shop.db/orders/manifest/m"
    assert branch.bucket_directory("p=1", 0) == "/w/shop.db/orders/p=1/bucket-0"


def test_data_files_lie_in_the_data_directory_of_the_options():
    table = TablePaths("/w/db.db/t", data_directory="data")
    file = data_file(extra_files=("data-u-0.parquet.index",))
    assert table.data_file("p=1", 0, file) == "/w/db.db/t/data/p=1/bucket-0/data-u-0.parquet"
    assert table.extra_files("p=1", 0, file) == ("/w/db.db/t/data/p=1/bucket-0/data-u-0.parquet.index",)


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/b", "", ".", "..", "a\0b"])
def test_a_name_in_metadata_that_is_more_than_a_file_name_is_corruption(name):
    table = TablePaths("/w/db.db/t")
    for make in (table.manifest, table.index, table.statistics):
        with pytest.raises(BadEncoding, match="expected the name of a file"):
            make(name)
    with pytest.raises(BadEncoding):
        table.data_file("", 0, data_file(name))
    with pytest.raises(BadEncoding):
        table.extra_files("", 0, data_file(extra_files=(name,)))


def test_a_file_outside_the_table_lies_where_its_external_path_says_and_so_does_what_belongs_to_it():
    table = TablePaths("/w/db.db/t")
    for scheme in ("", "file:", "file://"):
        file = data_file(external_path=f"{scheme}/elsewhere/data-u-0.parquet", extra_files=("i.index",))
        assert table.files_of("", 0, file) == ("/elsewhere/data-u-0.parquet", "/elsewhere/i.index")


def test_a_file_in_another_file_system_is_refused():
    with pytest.raises(UnsupportedFeature, match="external-paths"):
        TablePaths("/w/db.db/t").data_file("", 0, data_file(external_path="s3://elsewhere/data-u-0.parquet"))


def test_an_external_path_that_names_another_file_is_corruption():
    with pytest.raises(BadEncoding, match=r"data-u-0\.parquet"):
        TablePaths("/w/db.db/t").data_file("", 0, data_file(external_path="/etc/passwd"))


def test_only_files_in_directories_of_their_bucket_are_taken_for_the_table_s_own():
    table = TablePaths("/w/db.db/t", data_directory="data")
    own = "/e/data/p=1/bucket-0"
    assert table.is_laid_out("p=1", 0, f"{own}/f")
    assert table.is_laid_out("p=1", 0, f"{own}/0101/1111/0000/01010101/f")
    for directory in ("/e/p=1/bucket-0", "/e/data/p=1/bucket-1", f"{own}/photos", f"{own}/0101/f"):
        assert not table.is_laid_out("p=1", 0, f"{directory}/f")


@pytest.mark.parametrize("text", ["..", "a/../..", "/a", "a/", "a//b"])
def test_a_partition_text_that_leads_elsewhere_is_refused(text):
    with pytest.raises(BadEncoding):
        TablePaths("/w/db.db/t").bucket_directory(text, 0)


@pytest.mark.parametrize("name", ["../evil", "..", ".", "", " ", "a/b", "a\\b", "a\0b", "x" * 256, "a:b", " a", ".a"])
def test_names_of_users_are_checked_before_they_become_paths(name):
    table = TablePaths("/w/db.db/t")
    for make in (
        table.tag,
        table.consumer,
        table.branch_root,
        table.for_branch,
        lambda n: paths.database_directory("/w", n),
        lambda n: paths.table_root("/w", "db", n),
        lambda n: paths.table_root("/w", n, "t"),
    ):
        with pytest.raises(InvalidIdentifier):
            make(name)


def test_tags_and_branches_are_not_purely_numeric_and_no_branch_is_called_main():
    table = TablePaths("/w/db.db/t")
    for make in (table.new_tag, table.branch_root, table.for_branch):
        with pytest.raises(InvalidIdentifier, match="numeric"):
            make("42")
    assert table.branch_root("main") == table.root
    assert table.tag("42") == "/w/db.db/t/tag/tag-42", "a table of others may have one"


@pytest.mark.parametrize("root", ["w/db.db/t", "/w/../t", "", "/w//t", "/w/t/"])
def test_a_table_root_is_an_absolute_normal_path(root):
    with pytest.raises(InvalidIdentifier):
        TablePaths(root)
    with pytest.raises(InvalidIdentifier):
        TablePaths("/w/t", data_directory="../x")


def test_names_are_read_back():
    assert paths.schema_id_of("schema-0") == 0
    assert paths.snapshot_id_of("snapshot-") is None
    assert paths.snapshot_id_of("snapshot--1") is None
    assert paths.snapshot_id_of("snapshot-²") is None
    assert paths.changelog_id_of("changelog-7") == 7
    assert paths.tag_name_of("tag-2024-01-01") == "2024-01-01"
    assert paths.tag_name_of("tag-") is None
    assert paths.consumer_name_of("consumer-c") == "c"
    assert paths.branch_name_of("branch-dev") == "dev"
    assert paths.database_name_of("shop.db") == "shop"
    assert paths.database_name_of(".db") is None
    assert paths.database_name_of("shop") is None


def test_names_of_new_files_are_the_ones_of_the_format():
    made = [
        paths.manifest_name("u", 0),
        paths.manifest_list_name("u", 1),
        paths.index_manifest_name("u", 2),
        paths.index_name("u", 3),
        paths.statistics_name("u", 4),
        paths.data_file_name("changelog-", "u", 5, "avro"),
        paths.file_index_name("data-u-0.parquet", "v"),
    ]
    assert made == [
        "manifest-u-0",
        "manifest-list-u-1",
        "index-manifest-u-2",
        "index-u-3",
        "stat-u-4",
        "changelog-u-5.avro",
        "data-u-0.parquet.v.index",
    ]
    assert paths.is_hidden(paths.temporary_name("snapshot-1", "u"))
    assert paths.extension_of("noextension") == ""
