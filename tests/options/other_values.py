"""Values of options that are not their defaults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from table_format.options.declare import AnyOption, Option, OptionPattern
from table_format.options.preconditions import READERS

VALUES = {
    "orc.row.index.stride": "5000",
    "page-size": "32 kb",
    "sequence.field": "a",
    "record-level.expire-time": "7 d",
    "record-level.time-field": "a",
    "rowkind.field": "kind",
    "file.format.per.level": "0:avro",
    "file.compression.per.level": "0:snappy",
    "file.compression.zstd-level": "7",
    "partial-update.remove-record-on-sequence-group": "a",
    "fields.default-aggregate-function": "max",
    "fields.<column>.aggregate-function": "max",
    "fields.<columns>.sequence-group": "b",
    "fields.<column>.nested-key": "x",
    "fields.<column>.nested-sequence-field": "y",
    "fields.<column>.nested-key-null-strategy": "ignore",
    "fields.<column>.ts-field": "at",
    "changelog-producer": "input",
    "merge-engine": "first-row",
    "sink.process-time-zone": "Europe/Berlin",
    "sink.watermark-time-zone": "Europe/Berlin",
    "changelog-file.format": "orc",
    "changelog-file.compression": "snappy",
    "changelog-file.stats-mode": "none",
    "orc.compress": "snappy",
    "avro.codec": "snappy",
    "partition.expiration-time": "7 d",
    "partition.expiration-strategy": "update-time",
    "partition.timestamp-formatter": "yyyyMMdd",
    "partition.timestamp-pattern": "$day",
    "partition.default-name": "none",
    "incremental-between-scan-mode": "delta",
    "tag.creation-period": "hourly",
    "tag.period-formatter": "without_dashes",
    "tag.creation-delay": "10 min",
    "tag.batch.customized-name": "nightly",
    "lookup-compact": "gentle",
    "changelog-producer.row-deduplicate-ignore-fields": "a",
    "sequence.field.sort-order": "descending",
    "cross-partition-upsert.index-ttl": "1 d",
    "compaction.offpeak.start.hour": "22",
    "compaction.offpeak.end.hour": "6",
    "deletion-vector.index-file.target-size": "1 mb",
    "data-file.external-paths": "file:/elsewhere",
    "metadata.stats-mode.per.level": "0:none",
    "data-file.external-paths.strategy": "round-robin",
    "data-file.external-paths.specific-fs": "file",
    "bucket-function.type": "hive",
    "file.compression": "snappy",
    "manifest.compression": "snappy",
    "metadata.stats-mode": "none",
    "file.format": "orc",
    "partition.mark-done-action": "mark-event",
}
"""A value of each option that is not its default, where none can be guessed."""

COLUMN_OF = {
    "listagg": "text",
    "collect": "list",
    "nested_update": "nested",
    "nested_partial_update": "nested",
    "merge_map_with_keytime": "times",
}


def other_values(option: AnyOption) -> Iterator[dict[str, str]]:
    """Ways to give an option a value that is not its default, one for each column that it may be about."""
    if isinstance(option, OptionPattern):
        columns = sorted(set(COLUMN_OF.values())) if option in READERS else ["a"]
        variable = "<columns>" if "<columns>" in option.key else "<column>"
        for column in columns:
            value = VALUES.get(option.key) or ("1" if "count" in option.key else "true")
            yield {option.key.replace(variable, column): value}
        return
    yield {option.key: VALUES.get(option.key) or another_value(option)}


def another_value(option: Option[Any]) -> str:
    """A value of an option that is not its default."""
    if isinstance(option.default, bool):
        return str(not option.default).lower()
    given = (VALUES[option.key],) if option.key in VALUES else ()
    for text in (*given, "3", "9", "0.5", "true", "3 mb", *option.parser.edges):
        try:
            parsed = option.parser(text)
        except ValueError:
            continue
        if parsed != option.default:
            return text
    raise AssertionError(option.key)
