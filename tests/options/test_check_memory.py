"""Buffers and pages with which Apache Paimon cannot write a table are refused; tests/oracle asks it for the limits."""

from __future__ import annotations

import pytest

from table_format.errors import InvalidOption, UnsupportedFeature
from table_format.model.schema import TableSchema
from table_format.model.types import BigIntType, DataField, IntType
from table_format.options.check import check_alterable, check_creatable, check_dynamic

BUFFER, PAGE = "write-buffer-size", "page-size"
MOST = 64 * 1024 * (2**31 - 1)


def table(options: dict[str, str], columns: int = 2, *, keys: tuple[str, ...] = ("c0",)) -> TableSchema:
    fields = tuple(DataField(i, f"c{i}", BigIntType(nullable=False)) for i in range(columns))
    bucket = {"bucket": "1"} if keys else {"bucket": "-1"}
    return TableSchema(0, fields, columns, primary_keys=keys, options={**bucket, **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {BUFFER: "191 kb", PAGE: "64 kb"},
            f"'{BUFFER}' is 191 kb; .* with 192 kb to {MOST} b, which are 3 to 2147483647 pages",
        ),
        ({BUFFER: f"{MOST + 65536} b", PAGE: "64 kb"}, f"with 192 kb to {MOST} b"),
        ({BUFFER: "1 mb", PAGE: "1 mb"}, r"with 3 mb to \d+ b, which are 3 to .* \('page-size' = 1 mb\)"),
        ({PAGE: "128 mb"}, f"'{PAGE}' is 128 mb; .* '{BUFFER}' = 256 mb only if that is at least 3 pages"),
    ],
)
def test_what_paimon_cannot_write_with_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        check_creatable(table(options))
    with pytest.raises(InvalidOption, match=message):
        check_alterable(table({}), table(options))


@pytest.mark.parametrize(
    "options",
    [
        {BUFFER: "192 kb", PAGE: "64 kb"},
        {BUFFER: f"{MOST} b", PAGE: "64 kb"},
        {BUFFER: "192 b", PAGE: "64 b"},
        {PAGE: "64 mb"},
    ],
)
def test_the_limits_are_taken(options: dict[str, str]) -> None:
    check_creatable(table(options))
    check_alterable(table({}), table(options))


def test_keys_that_move_between_partitions_need_twice_the_buffer() -> None:
    fields = tuple(DataField(i, f"c{i}", BigIntType(nullable=False)) for i in range(2))
    moving = TableSchema(0, fields, 2, ("c1",), ("c0",), {"bucket": "-1", PAGE: "64 kb", BUFFER: "384 kb"})
    check_creatable(moving)
    with pytest.raises(InvalidOption, match=r"with 384 kb to .* 6 to 2147483647 pages"):
        check_creatable(TableSchema(0, fields, 2, ("c1",), ("c0",), {"bucket": "-1", PAGE: "64 kb", BUFFER: "383 kb"}))


def test_a_page_has_room_for_the_fixed_part_of_a_row() -> None:
    check_creatable(table({PAGE: "64 b"}, columns=3))
    message = f"'{PAGE}' is 64 b; .* at least 68 bytes .* each row with 4 columns"
    with pytest.raises(InvalidOption, match=message):
        check_creatable(table({PAGE: "64 b"}, columns=4))
    with pytest.raises(InvalidOption, match=message):
        check_alterable(table({PAGE: "64 b"}, columns=3), table({PAGE: "64 b"}, columns=4))


def test_an_append_table_has_a_buffer_only_if_it_says_so() -> None:
    check_creatable(table({BUFFER: "1 b", PAGE: "64 kb"}, keys=()))
    check_creatable(table({BUFFER: "64 kb", PAGE: "64 kb", "write-buffer-for-append": "true"}, keys=()))
    with pytest.raises(InvalidOption, match=r"with 64 kb to .* 1 to 2147483647 pages"):
        check_creatable(table({BUFFER: "63 kb", PAGE: "64 kb", "write-buffer-for-append": "true"}, keys=()))


def test_what_another_program_has_set_is_not_checked_again() -> None:
    made = {BUFFER: "1 b", PAGE: "64 kb"}
    check_alterable(table(made), table({**made, "snapshot.num-retained.max": "20"}))
    check_dynamic(table(made), {BUFFER: "1 b"})


def test_any_buffer_is_taken_if_no_page_is_chosen() -> None:
    for size in ("1 b", "191 kb"):
        check_creatable(table({BUFFER: size}))
        check_alterable(table({}), table({BUFFER: size}))


def test_the_splits_that_a_bootstrap_reads_in_parallel_are_limited() -> None:
    key = "cross-partition-upsert.bootstrap-parallelism"
    fields = (DataField(0, "k", IntType(nullable=False)), DataField(1, "pt", IntType()))
    moving = TableSchema(0, fields, 1, ("pt",), ("k",), {"bucket": "-1", key: "1024"})
    check_creatable(moving)
    with pytest.raises(UnsupportedFeature, match="this version supports 1 to 1024"):
        check_creatable(TableSchema(0, fields, 1, ("pt",), ("k",), {"bucket": "-1", key: "1025"}))
