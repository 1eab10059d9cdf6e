"""Options that nothing would read are refused, and accepted where something reads them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from table_format.errors import InvalidOption
from table_format.model.schema import TableSchema
from table_format.model.types import (
    ArrayType,
    DataField,
    DataType,
    IntType,
    MapType,
    RowType,
    VarCharType,
)
from table_format.options.check import check_alterable, check_creatable, check_dynamic
from table_format.options.declare import AnyOption, Option
from table_format.options.documentation import options_markdown
from table_format.options.hints import HINTS
from table_format.options.preconditions import NEEDS, READERS, Need, needs_of
from table_format.options.registry import TABLE_OPTIONS
from table_format.options.table_options import TableOptions
from tests.options.other_values import COLUMN_OF, another_value, other_values

_NESTED = ArrayType(RowType(fields=(DataField(10, "x", IntType()), DataField(11, "y", IntType()))))
_KEY_TIME = MapType(VarCharType(), RowType(fields=(DataField(12, "v", IntType()), DataField(13, "at", VarCharType()))))
_TYPES: tuple[tuple[str, DataType], ...] = (
    ("id", IntType(nullable=False)),
    ("day", IntType(nullable=False)),
    ("a", IntType()),
    ("b", IntType()),
    ("text", VarCharType()),
    ("kind", VarCharType()),
    ("list", ArrayType(IntType())),
    ("nested", _NESTED),
    ("times", _KEY_TIME),
)
_FIELDS = tuple(DataField(i, name, data_type) for i, (name, data_type) in enumerate(_TYPES))

_PRIMARY_KEY = TableSchema(0, _FIELDS, 20, primary_keys=("id",), options={"bucket": "1"})
_APPEND = TableSchema(0, _FIELDS, 20)
_TABLES = {
    "append": _APPEND,
    "append, fixed buckets": replace(_APPEND, options={"bucket": "2", "bucket-key": "id"}),
    "append, vectors": replace(_APPEND, options={"deletion-vectors.enabled": "true"}),
    "append, partitions": replace(_APPEND, partition_keys=("day",)),
    "append, orc": replace(_APPEND, options={"file.format": "orc"}),
    "append, avro": replace(_APPEND, options={"file.format": "avro"}),
    "append, without zstd": replace(_APPEND, options={"file.compression": "snappy"}),
    "append, process time": replace(_APPEND, options={"tag.automatic-creation": "process-time"}),
    "append, watermark": replace(_APPEND, options={"tag.automatic-creation": "watermark"}),
    "append, batch": replace(_APPEND, options={"tag.automatic-creation": "batch"}),
    "append, incremental": replace(_APPEND, options={"incremental-between": "1,2"}),
    **{
        f"append, external {strategy}": replace(
            _APPEND,
            options={"data-file.external-paths": "file:/e", "data-file.external-paths.strategy": strategy},
        )
        for strategy in ("round-robin", "specific-fs")
    },
    "append, orc blocks": replace(_APPEND, options={"file.format": "orc", "file.block-size": "1 mb"}),
    "append, two hours": replace(
        _APPEND, options={"tag.automatic-creation": "process-time", "tag.creation-period": "two-hours"}
    ),
    "append, minutes": replace(
        _APPEND, options={"tag.automatic-creation": "process-time", "tag.creation-period-duration": "5 min"}
    ),
    "append, own codec": replace(_APPEND, options={"file.format": "orc", "orc.compress": "snappy"}),
    "append, consumer": replace(_APPEND, options={"consumer-id": "c"}),
    "append, fallback": replace(_APPEND, options={"scan.fallback-branch": "b"}),
    "append, many rows": replace(
        _APPEND, options={"read.stream.minRowsPerTrigger": "5", "read.stream.maxTriggerDelayMs": "5"}
    ),
    "append, spilled as is": replace(_APPEND, options={"spill-compression": "lz4"}),
    "append, expiring partitions": replace(
        _APPEND, partition_keys=("day",), options={"partition.expiration-time": "7 d"}
    ),
    "append, indexed": replace(_APPEND, options={"file-index.bitmap.columns": "a"}),
    "append, changelogs": replace(_APPEND, options={"changelog.time-retained": "30 d"}),
    "append, materialized": replace(
        _APPEND,
        options={
            "type": "materialized-table",
            "materialized-table.definition-query": "SELECT 1",
            "materialized-table.interval-freshness": "30",
            "materialized-table.interval-freshness.time-unit": "SECOND",
            "materialized-table.logical-refresh-mode": "FULL",
            "materialized-table.refresh-mode": "FULL",
            "materialized-table.refresh-status": "ACTIVATED",
        },
    ),
    "key": _PRIMARY_KEY,
    **{
        f"key, {name}": replace(_PRIMARY_KEY, options={"bucket": "1", **options})
        for name, options in {
            "vectors": {"deletion-vectors.enabled": "true"},
            "lookup": {"changelog-producer": "lookup"},
            "gentle lookup": {"changelog-producer": "lookup", "lookup-compact": "gentle"},
            "full": {"changelog-producer": "full-compaction", "changelog-producer.row-deduplicate": "true"},
            "aggregation": {"merge-engine": "aggregation"},
            "listagg by default": {
                "merge-engine": "aggregation",
                "fields.default-aggregate-function": "listagg",
                **{f"fields.{name}.aggregate-function": "last_value" for name in ("day", "a", "b", "list")},
                **{f"fields.{name}.aggregate-function": "last_value" for name in ("nested", "times")},
            },
            "partial": {"merge-engine": "partial-update"},
            "groups": {"merge-engine": "partial-update", "fields.a.sequence-group": "b"},
            "sequence": {"sequence.field": "a"},
            "expiring": {"record-level.expire-time": "1 d", "record-level.time-field": "a"},
            "quiet hours": {
                "compaction.offpeak.start.hour": "20",
                "compaction.offpeak.end.hour": "5",
                "compaction.offpeak-ratio": "3",
            },
            **{
                f"{function} of {column}": {
                    "merge-engine": "aggregation",
                    f"fields.{column}.aggregate-function": function,
                    **({"fields.nested.nested-key": "x"} if column == "nested" else {}),
                }
                for function, column in COLUMN_OF.items()
            },
            "nested order": {
                "merge-engine": "aggregation",
                "fields.nested.aggregate-function": "nested_update",
                "fields.nested.nested-key": "x",
            },
        }.items()
    },
    "dynamic": replace(_PRIMARY_KEY, options={}),
    "key, first row": replace(_PRIMARY_KEY, options={"bucket": "1", "merge-engine": "first-row"}),
    "no bloom filter of lookups": replace(_APPEND, options={"lookup.cache.bloom.filter.enabled": "false"}),
    "postponed": replace(_PRIMARY_KEY, options={"bucket": "-2"}),
    "postponed, number": replace(_PRIMARY_KEY, options={"bucket": "-2", "postpone.default-bucket-num": "4"}),
    "postponed, rows": replace(_PRIMARY_KEY, options={"bucket": "-2", "postpone.target-row-num-per-bucket": "5"}),
    "postponed, lookup": replace(_PRIMARY_KEY, options={"bucket": "-2", "changelog-producer": "lookup"}),
    "cross partition, aggregation": replace(
        _PRIMARY_KEY, options={"merge-engine": "aggregation"}, partition_keys=("day",)
    ),
    "cross partition": replace(_PRIMARY_KEY, options={}, partition_keys=("day",)),
}

_NEEDING = (*(option for _, options in NEEDS for option in options), *READERS)


def _refusal(table: TableSchema, given: dict[str, str]) -> str | None:
    try:
        check_creatable(replace(table, options={**table.options, **given}))
    except InvalidOption as error:
        return str(error)
    return None


@pytest.mark.parametrize("option", _NEEDING, ids=lambda option: option.key)
def test_an_option_is_accepted_where_it_is_read_and_refused_where_it_is_not(option: AnyOption) -> None:
    refusals = [_refusal(table, given) for table in _TABLES.values() for given in other_values(option)]
    assert None in refusals, "no table takes it"
    words = _IN_OTHER_WORDS.get(option.key, "would have no effect: it needs")
    assert any(words in refusal for refusal in refusals if refusal is not None), "each table takes it"


@pytest.mark.parametrize(
    ("option", "need"),
    [(option, need) for needs, options in NEEDS for option in options for need in needs],
    ids=lambda given: given.words if isinstance(given, Need) else given.key,
)
def test_each_thing_that_an_option_needs_is_named_where_it_alone_is_missing(option: AnyOption, need: Need) -> None:
    refusals = [_refusal(table, given) for table in _TABLES.values() for given in other_values(option)]
    words = _IN_OTHER_WORDS.get(option.key, need.words)
    assert any(words in refusal for refusal in refusals if refusal is not None)


_IN_OTHER_WORDS = {
    "sequence.field": "the table has no primary key",
    "changelog-producer": "requires a table with a primary key",
    "streaming-read-overwrite": "requires a table with a primary key",
}
"""Options that are refused by a check of their own, which has more to say."""


@pytest.mark.parametrize(
    "option",
    [o for o in _NEEDING if isinstance(o, Option) and o.default is not None and o.parser.show(o.default)],
    ids=lambda option: option.key,
)
def test_an_option_at_its_default_is_accepted_by_every_table(option: Option[Any]) -> None:
    shown = option.parser.show(option.default)
    for name, table in _TABLES.items():
        refusal = _refusal(replace(table, options={option.key: shown, **table.options}), {})
        assert refusal is None or "no effect" not in refusal, name


def test_an_option_loses_its_effect_only_together_with_itself() -> None:
    """Turning the changelog off leaves nothing behind that only the changelog reads."""
    before = _TABLES["key, full"]
    after = replace(before, id=1, options={"bucket": "1", "changelog-producer.row-deduplicate": "true"})
    with pytest.raises(InvalidOption, match=r"row-deduplicate': would have no effect: it needs 'changelog-producer'"):
        check_alterable(before, after)
    check_alterable(before, replace(after, options={"bucket": "1"}))


def test_a_foreign_table_with_an_idle_option_can_be_altered() -> None:
    before = replace(_APPEND, options={"num-levels": "4"})
    check_alterable(before, replace(before, id=1, options={"num-levels": "4", "write-only": "true"}))
    with pytest.raises(InvalidOption, match=r"'num-levels': would have no effect: it needs a primary key"):
        check_alterable(before, replace(before, id=1, options={"num-levels": "5"}))


def test_one_call_may_not_change_what_fills_a_materialized_table() -> None:
    with pytest.raises(InvalidOption, match=r"time-unit': says what fills a materialized table, which one call cannot"):
        check_dynamic(_TABLES["append, materialized"], {"materialized-table.interval-freshness.time-unit": "DAY"})


def test_one_call_may_not_give_an_option_without_effect() -> None:
    with pytest.raises(InvalidOption, match=r"'lookup-wait': would have no effect: it needs compaction by lookup"):
        check_dynamic(_APPEND, {"lookup-wait": "false"})
    check_dynamic(_TABLES["key, lookup"], {"lookup-wait": "false"})
    check_dynamic(replace(_APPEND, options={"num-levels": "4"}), {"write-only": "true"})


@pytest.mark.parametrize("option", [o for o in HINTS if isinstance(o, Option)], ids=lambda option: option.key)
def test_one_call_may_not_give_an_option_that_tunes_other_engines(option: Option[Any]) -> None:
    value = another_value(option)
    with pytest.raises(InvalidOption, match=rf"'{re.escape(option.key)}': tunes other engines"):
        check_dynamic(_TABLES["key, lookup"], {option.key: value})
    table = next(table for table in _TABLES.values() if _refusal(table, {option.key: value}) is None)
    check_dynamic(replace(table, options={**table.options, option.key: value}), {option.key: value})
    if option.default is not None:
        check_dynamic(_APPEND, {option.key: option.parser.show(option.default)})


@pytest.mark.parametrize(
    ("table", "key", "lacking"),
    [
        ("key, aggregation", "fields.id.aggregate-function", "neither of the primary key nor a partition column"),
        ("key, groups", "fields.id.aggregate-function", "neither of the primary key nor a partition column"),
        ("cross partition, aggregation", "fields.day.aggregate-function", "nor a partition column"),
        ("key, aggregation", "fields.id.ignore-retract", "none of the primary key"),
        ("cross partition, aggregation", "fields.day.ignore-retract", "no partition column"),
        ("key, groups", "fields.a.ignore-retract", "a member of a sequence group"),
        ("key, groups", "fields.b.ignore-retract", "a member of a sequence group"),
        ("key, listagg by default", "fields.id.list-agg-delimiter", "to be listagg"),
    ],
)
def test_an_option_of_a_column_that_no_function_computes_is_refused(table: str, key: str, lacking: str) -> None:
    value = "sum" if key.endswith("function") else "true"
    refusal = _refusal(_TABLES[table], {key: value})
    assert refusal is not None
    assert f"option '{key}': would have no effect: it needs " in refusal
    assert lacking in refusal


def test_a_function_on_a_key_column_of_a_foreign_table_stays() -> None:
    """Paimon stores it, and takes the key all the same."""
    table = _TABLES["key, aggregation"]
    foreign = replace(table, options={**table.options, "fields.id.aggregate-function": "sum"})
    check_alterable(foreign, replace(foreign, id=1, options={**foreign.options, "write-only": "true"}))


def test_the_documentation_says_what_an_option_needs() -> None:
    line = next(line for line in options_markdown().splitlines() if line.startswith("| `lookup-wait`"))
    assert "Needs compaction by lookup" in line


def test_each_need_is_about_an_option_that_exists() -> None:
    declared = {option.key for option in TABLE_OPTIONS}
    assert {option.key for option in _NEEDING} <= declared
    assert len({option.key for option in _NEEDING}) == len(_NEEDING)
    table = TableOptions.parse({})
    for option in _NEEDING:
        for need in needs_of(option):
            assert need.holds(_APPEND, table) in (True, False)
