"""How a table spreads its rows over buckets, as a type."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

import table_format
from table_format.errors import InvalidOption
from table_format.model.schema import TableSchema
from table_format.model.types import DataField, IntType
from table_format.options.bucket import BucketOptions
from table_format.options.bucket_mode import (
    BucketMode,
    CrossPartition,
    Dynamic,
    Fixed,
    Postponed,
    Unaware,
    bucket_mode,
    check_cross_partition_mode,
    extends_buckets,
    is_bucketed,
    total_buckets,
)

FIELDS = (DataField(0, "k", IntType(nullable=False)), DataField(1, "p", IntType()))
APPEND = TableSchema(0, FIELDS, 1)
KEYED = TableSchema(0, FIELDS, 1, primary_keys=("k",))
PARTITIONED = TableSchema(0, FIELDS, 1, ("p",), ("k", "p"))
CROSSING = TableSchema(0, FIELDS, 1, ("p",), ("k",))

ALL_MODES = (Fixed(3), Dynamic(), Unaware(), Postponed(), CrossPartition())


@pytest.mark.parametrize(
    ("schema", "count", "mode"),
    [
        (APPEND, -1, Unaware()),
        (APPEND, 3, Fixed(3)),
        (KEYED, -1, Dynamic()),
        (KEYED, 3, Fixed(3)),
        (KEYED, -2, Postponed()),
        (PARTITIONED, -1, Dynamic()),
        (CROSSING, -1, CrossPartition()),
    ],
)
def test_the_mode_follows_from_the_option_and_the_primary_key(
    schema: TableSchema, count: int, mode: BucketMode
) -> None:
    assert bucket_mode(schema, BucketOptions(count=count)) == mode
    assert total_buckets(mode) == count


def test_zero_buckets_are_refused() -> None:
    with pytest.raises(InvalidOption, match="'bucket': 0 is not a number of buckets"):
        bucket_mode(APPEND, BucketOptions(count=0))


@pytest.mark.parametrize("count", [3, -2])
def test_a_key_without_partition_columns_takes_no_other_mode(count: int) -> None:
    check_cross_partition_mode(CROSSING, BucketOptions(count=-1))
    check_cross_partition_mode(PARTITIONED, BucketOptions(count=count))
    with pytest.raises(InvalidOption, match=f"is {count} and the primary key lacks the partition columns p"):
        check_cross_partition_mode(CROSSING, BucketOptions(count=count))


def test_only_an_append_table_without_buckets_has_no_order_in_them() -> None:
    assert [mode for mode in ALL_MODES if not is_bucketed(mode)] == [Unaware()]


def test_writers_go_on_from_what_a_bucket_holds_unless_it_is_no_real_one() -> None:
    assert [mode for mode in ALL_MODES if not extends_buckets(mode)] == [Unaware(), Postponed()]


# --- a new mode cannot be forgotten -----------------------------------------------------------------------------------

MODES = {mode.__name__ for mode in get_args(BucketMode)}
ROOT = Path(table_format.__file__).parent


def _trees(*, having: str) -> Iterator[tuple[str, ast.AST]]:
    """The modules whose text has a word; to parse all of them takes seconds."""
    for path in ROOT.rglob("*.py"):
        if having in (text := path.read_text()):
            yield path.relative_to(ROOT).as_posix(), ast.parse(text)


def _calls(node: ast.AST, function: str) -> bool:
    return any(isinstance(n, ast.Call) and ast.unparse(n.func) == function for n in ast.walk(node))


def _matches_modes(match: ast.Match) -> bool:
    patterns = (n for case in match.cases for n in ast.walk(case.pattern) if isinstance(n, ast.MatchClass))
    return any(ast.unparse(pattern.cls) in MODES for pattern in patterns)


def test_every_match_of_bucket_modes_lets_the_type_checker_find_a_missing_one() -> None:
    found = 0
    for path, tree in _trees(having="match "):
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef):
                continue
            for match in (n for n in ast.walk(function) if isinstance(n, ast.Match) and _matches_modes(n)):
                found += 1
                assert _calls(function, "assert_never"), f"{path}: {function.name} does not match exhaustively"
                catch_all = [case for case in match.cases if ast.unparse(case.pattern) == "_"]
                assert all(_calls(case, "assert_never") for case in catch_all), f"{path}: {function.name}"
    assert found >= len(MODES)


def test_only_the_options_know_the_numbers_that_stand_for_modes() -> None:
    readers = {
        path
        for path, tree in _trees(having="bucket.count")
        for n in ast.walk(tree)
        if isinstance(n, ast.Attribute) and n.attr == "count" and ast.unparse(n.value).endswith("bucket")
    }
    assert all(path.startswith("options/") for path in readers), readers
