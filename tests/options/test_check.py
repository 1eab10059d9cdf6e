"""Which options a table may be created with, which may change, and what they forbid."""

from __future__ import annotations

from dataclasses import replace

import pytest

from table_format.errors import InvalidOption, UnsupportedFeature
from table_format.model.schema import TableSchema
from table_format.model.types import ArrayType, BigIntType, DataField, IntType, VarCharType
from table_format.options.check import check_alterable, check_creatable, check_dynamic, check_options, require
from table_format.options.check_schema import check_schema
from table_format.options.declare import Operation
from table_format.options.table_options import TableOptions

FIELDS = (
    DataField(0, "id", BigIntType(nullable=False)),
    DataField(1, "dt", VarCharType(nullable=False)),
    DataField(2, "v", IntType()),
    DataField(3, "tags", ArrayType(element=VarCharType())),
)


def append_table(**options: str) -> TableSchema:
    return TableSchema(0, FIELDS, 3, options=_keys(options))


def primary_key_table(**options: str) -> TableSchema:
    return TableSchema(0, FIELDS, 3, primary_keys=("id",), options={"bucket": "2", **_keys(options)})


def _keys(options: dict[str, str]) -> dict[str, str]:
    return {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}


def test_an_unknown_key_is_refused_with_what_was_probably_meant() -> None:
    with pytest.raises(InvalidOption, match=r"option 'buckets' is not known; did you mean 'bucket'") as caught:
        check_creatable(append_table(buckets="4"))
    assert caught.value.key == "buckets"


def test_a_malformed_value_is_refused_with_the_accepted_form() -> None:
    with pytest.raises(InvalidOption, match=r"'target-file-size': 'huge' is not a legal value; it takes a size"):
        check_creatable(append_table(target_file_size="huge"))


def test_a_version_is_read_and_not_stored_because_java_could_not_alter_the_table() -> None:
    with pytest.raises(InvalidOption, match=r"'scan.version' is only for a single read.*use 'scan.snapshot-id'"):
        check_creatable(append_table(scan__version="1"))
    with pytest.raises(InvalidOption, match="single read"):
        check_alterable(append_table(), append_table(scan__version="1"))
    check_alterable(append_table(scan__version="1"), append_table(scan__version="1", owner="me"))
    check_alterable(append_table(scan__version="1"), append_table())
    check_dynamic(append_table(), {"scan.version": "1"})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("file.format", "csv"),
        ("postpone.merge-on-read", "true"),
        ("tag.create-success-file", "true"),
        ("file-index.inverted.columns", "v"),
        ("file-index.bloom-filter.v.version", "2"),
        ("record-level.time-field-type", "seconds-int"),
        ("partition.mark-done-action", "success-file,done-partition"),
        ("partition.end-input-to-done", "true"),
        ("row-tracking.enabled", "true"),
        ("file.format.per.level", "0:csv"),
        ("file.compression", "gzip9"),
        ("data-file.external-paths.strategy", "weighted"),
        ("orc.compress.size", "8 mb"),
        ("orc.row.index.stride", "0"),
        ("spill-compression", "none"),
        ("orc.row.index.stride", "999"),
    ],
)
def test_a_known_option_without_its_effect_is_refused_by_name_and_value(key: str, value: str) -> None:
    table = primary_key_table()
    with pytest.raises(UnsupportedFeature) as caught:
        check_creatable(replace(table, options={**table.options, key: value}))
    assert key in str(caught.value)
    assert value in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("deletion-vectors.enabled", "true"),
        ("changelog-producer", "lookup"),
        ("changelog-producer", "input"),
        ("full-compaction.delta-commits", "5"),
        ("merge-engine", "deduplicate"),
        ("file.format", "PARQUET"),
        ("sort-engine", "min-heap"),
        ("read.batch-size", "4096"),
        ("owner", "somebody"),
    ],
)
def test_a_value_without_effect_is_accepted(key: str, value: str) -> None:
    table = primary_key_table()
    check_creatable(replace(table, options={**table.options, key: value}))


def test_a_primary_key_table_without_bucket_has_dynamic_ones() -> None:
    check_creatable(TableSchema(0, FIELDS, 3, primary_keys=("id",)))


def test_postponed_buckets_need_a_primary_key() -> None:
    check_creatable(TableSchema(0, FIELDS, 3, primary_keys=("id",), options={"bucket": "-2"}))
    check_creatable(TableSchema(0, FIELDS, 3, primary_keys=("id",), options={"bucket": "-2", "bucket-key": "id"}))
    with pytest.raises(InvalidOption, match=r"-2 \(postpone bucket\) needs a primary key"):
        check_creatable(append_table(bucket="-2"))


def test_a_bucketed_append_table_needs_a_bucket_key() -> None:
    with pytest.raises(InvalidOption, match="option 'bucket-key' is required for an append table"):
        check_creatable(append_table(bucket="4"))
    check_creatable(append_table(bucket="4", bucket_key="id"))
    with pytest.raises(InvalidOption, match="has no meaning with bucket = -1"):
        check_creatable(append_table(bucket_key="id"))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"bucket-key": "nope", "bucket": "2"}, "'nope' does not exist; the columns are id, dt, v, tags"),
        ({"bucket-key": "v", "bucket": "2"}, "'v' is not in the primary key id"),
        ({"sequence.field": "tags", "bucket": "2"}, "has no order"),
        ({"rowkind.field": "v", "bucket": "2"}, "takes a STRING column"),
    ],
)
def test_columns_named_by_options_must_fit(options: dict[str, str], problem: str) -> None:
    with pytest.raises(InvalidOption, match=problem):
        check_schema(TableSchema(0, FIELDS, 3, primary_keys=("id",), options=options))


def test_options_that_name_columns_name_existing_ones() -> None:
    with pytest.raises(InvalidOption, match=r"option 'sequence\.field': column 'w' does not exist"):
        check_creatable(primary_key_table(sequence__field="w"))
    with pytest.raises(InvalidOption, match="no primary key"):
        check_creatable(append_table(sequence__field="v"))


def test_retention_bounds_must_not_cross() -> None:
    with pytest.raises(InvalidOption, match=r"5 is more than snapshot\.num-retained\.max = 2"):
        check_creatable(append_table(snapshot__num_retained__min="5", snapshot__num_retained__max="2"))


def test_a_scan_has_one_starting_point() -> None:
    with pytest.raises(InvalidOption, match=r"scan\.snapshot-id.*together with scan\.tag-name"):
        check_dynamic(append_table(), {"scan.snapshot-id": "1", "scan.tag-name": "t"})


@pytest.mark.parametrize("key", ["merge-engine", "bucket-key", "rowkind.field", "type", "primary-key", "path"])
def test_immutable_options_never_change(key: str) -> None:
    table = primary_key_table()
    value = {"merge-engine": "deduplicate", "type": "table"}.get(key, "v")
    with pytest.raises(InvalidOption, match="may not change"):
        check_alterable(table, replace(table, options={**table.options, key: value}))


def test_the_format_of_manifests_changes_only_before_the_first_snapshot() -> None:
    old, new = (primary_key_table(**{"manifest.format": name}) for name in ("avro", "orc"))
    check_alterable(old, new, has_snapshots=False)
    check_alterable(primary_key_table(), old, has_snapshots=True)
    with pytest.raises(InvalidOption, match=r"from avro to orc once there is a snapshot"):
        check_alterable(old, new, has_snapshots=True)


@pytest.mark.parametrize(("before", "after"), [("2", "-1"), ("-1", "2"), ("2", None), (None, "2")])
def test_the_number_of_buckets_changes_only_between_positive_numbers(before: str | None, after: str | None) -> None:
    old = TableSchema(0, FIELDS, 3, options={} if before is None else {"bucket": before})
    new = replace(old, options={} if after is None else {"bucket": after})
    with pytest.raises(InvalidOption, match="only between positive numbers"):
        check_alterable(old, new)


def test_a_positive_number_of_buckets_may_change_to_another() -> None:
    check_alterable(primary_key_table(), primary_key_table(bucket="7"))


def test_dropping_deletes_is_for_ever() -> None:
    with pytest.raises(InvalidOption, match="from true to false"):
        check_alterable(primary_key_table(ignore_delete="true"), primary_key_table())


def test_altering_a_table_of_others_does_not_judge_what_it_held_before() -> None:
    old = TableSchema(0, FIELDS, 3, primary_keys=("id",), options={"bucket": "-1", "made.up": "1"})
    check_alterable(old, replace(old, options={**old.options, "write-only": "true"}))


@pytest.mark.parametrize(
    ("options", "operation", "refused"),
    [
        ({"merge-engine": "aggregation"}, Operation.READ, False),
        ({"merge-engine": "aggregation"}, Operation.EXPIRE, False),
        ({"changelog-producer": "input"}, Operation.READ, False),
        ({"changelog-producer": "input"}, Operation.WRITE, False),
        ({"changelog-producer": "lookup"}, Operation.WRITE, False),
        ({"deletion-vectors.enabled": "true"}, Operation.READ, False),
        ({"deletion-vectors.enabled": "true"}, Operation.WRITE, False),
        ({"deletion-vectors.enabled": "true"}, Operation.COMPACT, False),
        ({"bucket": "-1"}, Operation.READ, False),
        ({"bucket": "-1"}, Operation.WRITE, False),
        ({"bucket": "-2"}, Operation.READ, False),
        ({"bucket": "-2"}, Operation.WRITE, False),
        ({"postpone.merge-on-read": "true"}, Operation.READ, True),
        ({"postpone.batch-write-fixed-bucket": "true"}, Operation.WRITE, False),
        ({"file.format": "csv"}, Operation.READ, False),
        ({"file.format": "csv"}, Operation.WRITE, True),
        ({"made.up": "1"}, Operation.WRITE, False),
        ({"data-file.prefix": "x-"}, Operation.WRITE, False),
    ],
)
def test_a_table_of_others_refuses_only_operations_with_a_wrong_result(
    options: dict[str, str], operation: Operation, refused: bool
) -> None:
    schema = TableSchema(0, FIELDS, 3, primary_keys=("id",), options={"bucket": "1", **options})
    if refused:
        with pytest.raises(UnsupportedFeature, match=next(iter(options))):
            require(schema, TableOptions.parse(schema.options), operation)
    else:
        require(schema, TableOptions.parse(schema.options), operation)


@pytest.mark.parametrize("key", ["commit.attempt-timeout", "commit.request-timeout"])
def test_a_time_in_which_no_commit_can_succeed_is_refused(key: str) -> None:
    with pytest.raises(InvalidOption, match=rf"'{key}': '1 ns' is not a legal value; it takes .* at least 100 ms"):
        check_options({key: "1 ns"})
    check_options({key: "100 ms"})
