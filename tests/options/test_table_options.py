"""The typed options of a table."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from table_format.errors import InvalidOption
from table_format.options.declare import Option
from table_format.options.documentation import options_markdown
from table_format.options.merge import MergeEngine
from table_format.options.registry import TABLE_OPTIONS, find
from table_format.options.table_options import TableOptions


def test_defaults_are_those_of_the_format() -> None:
    options = TableOptions.parse({})
    assert options.bucket.count == -1
    assert options.bucket.key == ()
    assert (options.files.format, options.files.compression, options.files.zstd_level) == ("parquet", "zstd", 1)
    assert options.files.target_file_size_of(has_primary_key=True) == 128 << 20
    assert options.files.target_file_size_of(has_primary_key=False) == 256 << 20
    assert options.files.stats_mode == "truncate(16)"
    assert options.manifest.merge_min_count == 30
    assert options.merge.engine is MergeEngine.DEDUPLICATE
    assert (options.compaction.trigger, options.compaction.stop_trigger, options.compaction.num_levels) == (5, 8, 6)
    assert options.commit.max_retries == 10
    assert options.commit.timeout_ms is None
    assert options.commit.dynamic_partition_overwrite
    assert options.expire.time_retained_ms == 3_600_000
    assert options.scan.split_target_size == 128 << 20


def test_values_are_typed_and_derived_values_follow() -> None:
    options = TableOptions.parse(
        {
            "num-sorted-run.compaction-trigger": "3",
            "fields.amount.stats-mode": "none",
            "sequence.field": "a, b",
            "sequence.field.sort-order": "descending",
            "parquet.enable.dictionary": "false",
        }
    )
    assert (options.compaction.stop_trigger, options.compaction.num_levels) == (6, 4)
    assert options.files.stats_mode_of("amount") == "none"
    assert options.files.stats_mode_of("other") == "truncate(16)"
    assert options.merge.sequence_fields == ("a", "b")
    assert options.merge.sequence_descending
    assert options.files.parquet_dictionary is False


def test_a_stop_trigger_is_never_below_the_trigger() -> None:
    options = TableOptions.parse({"num-sorted-run.compaction-trigger": "9", "num-sorted-run.stop-trigger": "2"})
    assert options.compaction.stop_trigger == 9


def test_an_older_key_stands_for_the_newer_one() -> None:
    assert TableOptions.parse({"write.compaction-skip": "true"}).compaction.write_only
    assert TableOptions.parse({"deduplicate.ignore-delete": "true"}).merge.ignore_delete


def test_a_table_of_others_opens_and_only_the_group_with_the_bad_value_is_refused() -> None:
    options = TableOptions.parse({"merge-engine": "invented", "no.such.key": "x", "bucket": "2"})
    assert options.bucket.count == 2
    with pytest.raises(InvalidOption, match=r"merge-engine.*one of deduplicate"):
        _ = options.merge


def test_options_travel_between_processes() -> None:
    options = TableOptions.parse({"bucket": "2"})
    assert options.bucket.count == 2
    copy = pickle.loads(pickle.dumps(options))  # noqa: S301 - our own bytes
    assert copy == options
    assert copy.bucket == options.bucket


def test_no_key_is_declared_twice() -> None:
    keys = [key for o in TABLE_OPTIONS for key in (o.keys if isinstance(o, Option) else (o.key,))]
    assert sorted({k for k in keys if keys.count(k) > 1}) == []


@pytest.mark.parametrize("option", [o for o in TABLE_OPTIONS if isinstance(o, Option)], ids=lambda o: o.key)
def test_each_default_has_its_effect(option: Option[object]) -> None:
    assert option.is_honoured(option.default)
    assert option.doc.endswith(".")


def test_a_family_of_keys_is_found_after_exact_keys() -> None:
    assert find("file-index.bloom-filter.columns") is not None
    assert find("fields.default-aggregate-function").key == "fields.default-aggregate-function"
    assert find("partition.default-name").key == "partition.default-name"


def test_the_reference_in_the_documentation_is_up_to_date() -> None:
    written = Path(__file__).parents[2] / "docs" / "options.md"
    assert written.read_text() == options_markdown(), "run python -m table_format.options > docs/options.md"


def test_the_reference_names_every_option_once() -> None:
    text = options_markdown()
    for option in TABLE_OPTIONS:
        assert f"| `{option.key}` |" in text


def test_the_reference_says_which_values_are_supported() -> None:
    lines = options_markdown().splitlines()
    rows = {line.split("`")[1]: line for line in lines if line.startswith("| `")}
    assert all(line.endswith(" |") for line in rows.values())
    assert "| `\\n` | a text | End of a line" in rows["csv.line-delimiter"]
    assert "Supported: '\\n', '\\r\\n', '\\r'." in rows["csv.line-delimiter"]
    assert "Supported: 'none', 'round-robin', 'specific-fs'." in rows["data-file.external-paths.strategy"]
    assert "Supported: 2 to 10000." in rows["num-levels"]
    assert "Only the default is supported." in rows["json.map-null-key-mode"]
    assert "This library does not use it." in rows["json.map-null-key-literal"]
    assert "Only the default is supported." in rows["partition.mark-done-action"]
