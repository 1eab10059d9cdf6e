"""Options of one call that it would not read are refused, and only those."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, cast

import pyarrow as pa
import pytest

from table_format import Catalog, Schema, Table, load_catalog
from table_format.errors import InvalidOption
from table_format.io.memory import MemoryFileIO
from table_format.options import table_options
from table_format.options.declare import AnyOption, Option, OptionFamily
from table_format.options.documentation import options_markdown
from table_format.options.registry import GROUPS
from table_format.options.unread import UNREAD, Reader, refuse_unread
from tests.options.other_values import other_values


@pytest.mark.parametrize(
    ("reader", "option"),
    [(reader, option) for reader, options in UNREAD.items() for option in options],
    ids=lambda given: given.name if isinstance(given, Reader) else given.key,
)
def test_an_option_given_for_one_call_that_ignores_it_is_refused(reader: Reader, option: AnyOption) -> None:
    given = next(other_values(option))
    key = re.escape(next(iter(given)))
    with pytest.raises(InvalidOption, match=f"'{key}': would have no effect on {reader.value}"):
        refuse_unread(given, reader)
    others = [other for other in Reader if option not in UNREAD[other]]
    assert others, "nobody reads it"
    for other in others:
        refuse_unread(given, other)
    if isinstance(option, Option) and option.parser.show(option.default) not in ("", "none"):
        refuse_unread({option.key: option.parser.show(option.default)}, reader)


def test_no_option_is_listed_twice_for_a_reader() -> None:
    for reader, options in UNREAD.items():
        keys = [option.key for option in options]
        assert sorted(keys) == sorted(set(keys)), reader


def test_the_documentation_says_which_calls_refuse_an_option() -> None:
    rows = {line.split("`")[1]: line for line in options_markdown().splitlines() if line.startswith("| `")}
    for key, words in (
        ("write-only", "only for a read."),
        ("consumer-id", "only for a batch read or a write."),
        ("scan.mode", "only for a write."),
    ):
        assert f"Refused if it is set {words}" in rows[key]
    assert "Refused" not in rows["file-index.read.enabled"]


_FIELDS = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string()), ("day", pa.string())])
_KINDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], dict[str, str]]] = {
    "append": ((), ("day",), {"bucket": "-1"}),
    "append with vectors": ((), (), {"bucket": "-1", "deletion-vectors.enabled": "true"}),
    "key": (("id",), (), {"bucket": "1", "file-index.bloom-filter.columns": "v"}),
    "vectors": (("id",), (), {"bucket": "1", "deletion-vectors.enabled": "true"}),
    "lookup": (("id",), (), {"bucket": "1", "changelog-producer": "lookup", "changelog.time-retained": "9 d"}),
    "dynamic": (("id", "day"), ("day",), {"bucket": "-1"}),
    "postponed": (("id",), (), {"bucket": "-2"}),
    "partial update": (("id",), (), {"bucket": "1", "merge-engine": "partial-update"}),
}


def _table(catalog: Catalog, kind: str) -> Table:
    primary_keys, partition_keys, options = _KINDS[kind]
    name = f"d.{kind.replace(' ', '_')}"
    catalog.create_table(name, Schema.from_arrow(_FIELDS, primary_keys, partition_keys, options))
    return catalog.load_table(name)


def _fill(table: Table) -> None:
    for number in range(3):
        table.append(pa.table({"id": [number, 9], "v": ["x", "y"], "day": ["a", "a"]}))


@pytest.mark.parametrize("kind", _KINDS)
def test_a_read_reads_no_option_that_it_refuses(kind: str) -> None:
    catalog = load_catalog({"warehouse": "/w"}, file_io=MemoryFileIO())
    catalog.create_database("d")
    table = _table(catalog, kind)
    _fill(table)
    name = str(table.identifier)
    batches: list[Callable[[], object]] = [
        lambda: table.scan(filter="v = 'x' AND id < 5").to_arrow(),
        lambda: table.scan(order_by="id", limit=1).to_arrow(),
        lambda: table.scan(options={"scan.mode": "compacted-full"}).to_arrow(),
        lambda: table.scan(options={"incremental-between": "1,2"}).to_arrow(),
        lambda: table.scan(options={"scan.timestamp-millis": str(1 << 50)}).count(),
        lambda: table.scan().aggregate({"n": ("count", "*"), "m": ("max", "id")}),
        *(
            lambda suffix=suffix: catalog.load_system_table(f"{name}${suffix}").scan().to_arrow()  # type: ignore[misc]
            for suffix in ("files", "snapshots", "audit_log", "binlog", "partitions", "buckets", "ro")
            if suffix != "ro" or table.schema.primary_keys
        ),
    ]
    with _watched() as read:
        for batch in batches:
            batch()
    assert read & set(_keys(Reader.BATCH)) == set()
    assert read, "nothing was watched"
    if kind == "partial update":
        return  # Its changes are not rows.
    with _watched() as read:
        for mode in ("default", "compacted-full", "latest"):
            stream = table.stream(options={"scan.mode": mode, "consumer-id": mode})
            for _ in range(3):
                plan = stream.next_plan()
                if plan is not None:
                    stream.to_arrow(plan)
    assert read & set(_keys(Reader.STREAM)) == set()


@pytest.mark.parametrize("kind", _KINDS)
def test_a_write_reads_no_option_that_it_refuses(kind: str) -> None:
    catalog = load_catalog({"warehouse": "/w"}, file_io=MemoryFileIO())
    catalog.create_database("d")
    # The options of a new table are all checked.
    table = _table(catalog, kind)
    with _watched() as read:
        _fill(table)
        table.overwrite(pa.table({"id": [1], "v": ["x"], "day": ["b"]}))
    assert read & set(_keys(Reader.WRITE)) == set()


def _keys(reader: Reader) -> Iterator[str]:
    return (option.key for option in UNREAD[reader])


@contextmanager
def _watched() -> Iterator[set[str]]:
    """The keys of the options whose values are asked for inside the block."""
    found: set[str] = set()
    with pytest.MonkeyPatch.context() as patch:
        for group in GROUPS:
            _watch(patch, group, found)
        read: Callable[..., object] = Option.read
        is_parsing = False

        def parse(*arguments: Any) -> object:
            nonlocal is_parsing
            is_parsing = True
            try:
                return parsed(*arguments)
            finally:
                is_parsing = False

        def noted(option: Option[Any], options: Mapping[str, str]) -> object:
            if not is_parsing:
                found.add(option.key)
            return read(option, options)

        parsed: Callable[..., object] = table_options.parse_group
        patch.setattr(table_options, "parse_group", parse)
        patch.setattr(Option, "read", noted)
        yield found


def _watch(patch: pytest.MonkeyPatch, group: type[object], found: set[str]) -> None:
    keys = {
        member.name: [option.key for option in declared.options]
        if isinstance(declared := member.metadata["option"], OptionFamily)
        else [declared.key]
        for member in fields(cast("Any", group))
        if "option" in member.metadata
    }

    def get(value: object, name: str) -> object:
        found.update(keys.get(name, ()))
        return object.__getattribute__(value, name)

    patch.setattr(group, "__getattribute__", get)
