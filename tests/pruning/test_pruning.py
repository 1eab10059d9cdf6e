"""A read with pruning returns the same rows as a read of everything, for every filter and kind of read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from table_format.model.data_file import DataFileMeta
from table_format.model.predicate import And, Compare, CompareOp, In, IsNull, Like, Not, Or, Predicate
from table_format.options.table_options import TableOptions
from table_format.pruning import pruning as pruning_module
from table_format.pruning.pruning import FileTest, IndexVerdict, Pruning
from table_format.pruning.read_kind import RULES, ReadKind, Rules
from tests.pruning.stored_tables import (
    APPEND,
    KEYED,
    Row,
    StoredTable,
    all_rows,
    kept_state,
    pruned_rows,
    selected,
    stored,
)
from tests.support.matrix import tries

EQ, LT, GE = CompareOp.EQ, CompareOp.LT, CompareOp.GE
DAY, KEY, VALUE = Compare("dt", EQ, "a"), Compare("id", EQ, 1), Compare("v", EQ, 5)

Commits: TypeAlias = list[list[Row]]


def pruning_of(kind: ReadKind, predicate: Predicate | None, **options: str) -> Pruning:
    schema = APPEND if kind is ReadKind.APPEND_TABLE else KEYED
    return Pruning.of(kind, schema, TableOptions.parse({**schema.options, **options}), predicate)


# --- the rules, one by one -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "options", "min_level", "kind"),
    [
        (APPEND, {}, 0, ReadKind.APPEND_TABLE),
        (APPEND, {"deletion-vectors.enabled": "true"}, 1, ReadKind.APPEND_TABLE),
        (KEYED, {}, 0, ReadKind.MERGE_ON_READ),
        (KEYED, {}, 5, ReadKind.MERGE_ON_READ),
        (KEYED, {"deletion-vectors.enabled": "true"}, 1, ReadKind.MERGE_ON_WRITE),
        (KEYED, {"deletion-vectors.enabled": "true"}, 0, ReadKind.MERGE_ON_READ),
        (KEYED, {"merge-engine": "first-row"}, 1, ReadKind.MERGE_ON_WRITE),
    ],
)
def test_each_key_is_live_once_only_above_level_0_of_a_table_that_merges_on_write(
    schema: Any, options: dict[str, str], min_level: int, kind: ReadKind
) -> None:
    assert ReadKind.of_state(schema, TableOptions.parse(options), min_level=min_level) is kind


def test_every_kind_of_read_has_rules() -> None:
    assert set(RULES) == set(ReadKind)


def test_a_filter_is_split_by_columns() -> None:
    found = pruning_of(ReadKind.MERGE_ON_READ, And((DAY, KEY, VALUE)))
    assert found.partition_condition == DAY
    assert found.row_group_condition(merged=True) == And((DAY, KEY))
    assert found.row_group_condition(merged=False) == found.residual == And((DAY, KEY, VALUE))
    either = pruning_of(ReadKind.MERGE_ON_READ, Or((DAY, VALUE)))
    assert either.partition_condition is None
    assert either.row_group_condition(merged=True) is None
    assert either.residual == Or((DAY, VALUE))


def test_without_a_filter_nothing_is_skipped() -> None:
    for kind in ReadKind:
        found = pruning_of(kind, None)
        assert found.partition_condition is found.bucket_hashes is found.index_condition is found.residual is None
        assert found.key_statistics_test({}) is found.value_statistics_test({}) is None
        assert found.admits_bucket(3, 4)
        assert found.admits_key_hashes(np.array([], np.int32))


def test_equality_on_the_bucket_key_selects_one_bucket_and_a_range_selects_all() -> None:
    one = pruning_of(ReadKind.APPEND_TABLE, And((KEY, VALUE)))
    assert [one.admits_bucket(bucket, 8) for bucket in range(8)].count(True) == 1
    assert pruning_of(ReadKind.APPEND_TABLE, Compare("id", LT, 1)).bucket_hashes is None
    assert pruning_of(ReadKind.APPEND_TABLE, KEY, **{"bucket-function.type": "mod"}).bucket_hashes is None


def test_the_hashes_of_its_keys_decide_whether_a_dynamic_bucket_is_read() -> None:
    found = pruning_of(ReadKind.MERGE_ON_READ, In("id", (1, 2)))
    assert found.bucket_hashes is not None
    one, other = sorted(found.bucket_hashes)
    assert found.admits_key_hashes(np.array([7, one], np.int32))
    assert found.admits_key_hashes(np.array([other], np.int32))
    assert not found.admits_key_hashes(np.array([7], np.int32))


def test_postponed_rows_have_no_bucket_but_statistics_of_their_keys() -> None:
    found = pruning_of(ReadKind.MERGE_ON_READ, And((KEY, VALUE))).of_postponed_rows()
    assert found.bucket_hashes is None
    assert found.key_statistics_test({}) is not None
    assert found.value_statistics_test({}) is None


@pytest.mark.parametrize(
    ("kind", "by_keys", "by_values", "by_index"),
    [
        (ReadKind.APPEND_TABLE, False, True, True),
        (ReadKind.MERGE_ON_READ, True, True, True),
        (ReadKind.MERGE_ON_WRITE, True, True, True),
        (ReadKind.CHANGES, False, True, False),
        (ReadKind.REPLACEMENT, False, False, False),
        (ReadKind.DIFFERENCE, True, False, False),
        (ReadKind.POSTPONED, True, False, False),
    ],
)
def test_each_kind_of_read_uses_only_valid_statistics_and_indexes(
    kind: ReadKind, by_keys: bool, by_values: bool, by_index: bool
) -> None:
    found = pruning_of(kind, And((KEY, VALUE)))
    assert (found.key_statistics_test({}) is not None) is by_keys
    assert (found.value_statistics_test({}) is not None) is by_values
    assert (found.index_condition is not None) is by_index
    assert pruning_of(kind, VALUE, **{"file-index.read.enabled": "false"}).index_condition is None


def test_indexes_are_evaluated_separately_for_the_key_and_for_the_whole_filter() -> None:
    evaluated: list[Predicate] = []

    def evaluate(condition: Predicate) -> str:
        evaluated.append(condition)
        return f"answer {len(evaluated)}"

    both = pruning_of(ReadKind.MERGE_ON_READ, And((KEY, VALUE)))
    assert both.index_verdict(evaluate, "unknown") == IndexVerdict("answer 1", "answer 2")
    assert evaluated == [KEY, And((KEY, VALUE))]
    evaluated.clear()
    only_values = pruning_of(ReadKind.MERGE_ON_READ, VALUE)
    assert only_values.index_verdict(evaluate, "unknown") == IndexVerdict("unknown", "answer 1")
    evaluated.clear()
    # Rows of an append table are never merged.
    append = pruning_of(ReadKind.APPEND_TABLE, VALUE)
    assert append.index_verdict(evaluate, "unknown") == IndexVerdict("answer 1", "answer 1")
    evaluated.clear()
    changes = pruning_of(ReadKind.CHANGES, VALUE)
    assert changes.index_verdict(evaluate, "unknown") == IndexVerdict("unknown", "unknown")
    assert evaluated == []


# --- no row is lost, none comes back ---------------------------------------------------------------------------------

IDS = st.integers(0, 9)
VALUES = st.none() | st.integers(0, 5)
DAYS = st.sampled_from("ab")
_OPS = st.sampled_from([CompareOp.EQ, CompareOp.NE, CompareOp.LT, CompareOp.LE, CompareOp.GT, CompareOp.GE])

CONDITIONS: st.SearchStrategy[Predicate] = st.recursive(
    st.one_of(
        st.builds(Compare, st.just("id"), _OPS, IDS),
        st.builds(Compare, st.just("v"), _OPS, st.integers(0, 9)),
        st.builds(Compare, st.just("dt"), _OPS, DAYS),
        st.builds(In, st.just("id"), st.lists(IDS, max_size=3).map(tuple)),
        st.builds(In, st.just("v"), st.lists(st.integers(0, 9), max_size=3).map(tuple)),
        st.builds(Like, st.just("dt"), st.sampled_from(["a%", "%b"])),
        st.builds(IsNull, st.sampled_from(["v", "id"])),
    ),
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: And(tuple(parts))),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: Or(tuple(parts))),
    ),
    max_leaves=4,
)


def commits(*, kinds: str = "+", is_keyed: bool = True) -> st.SearchStrategy[Commits]:
    row = st.fixed_dictionaries({"dt": DAYS, "id": IDS, "v": VALUES, "kind": st.sampled_from(kinds)})
    unique_by = (lambda row: (row["dt"], row["id"])) if is_keyed else None
    return st.lists(st.lists(row, min_size=1, max_size=8, unique_by=unique_by), min_size=1, max_size=4)


def tables(kind: ReadKind, kinds: str, *engines: str) -> st.SearchStrategy[StoredTable]:
    found = commits(kinds=kinds, is_keyed=kind is not ReadKind.APPEND_TABLE)
    settled = st.integers(0, 2) if kind is ReadKind.MERGE_ON_READ else st.just(0)
    return st.builds(
        lambda found, engine, settled: stored(found, kind, engine=engine, settled=settled),
        found,
        st.sampled_from(engines),
        settled,
    )


TABLES: dict[str, st.SearchStrategy[StoredTable]] = {
    "append": tables(ReadKind.APPEND_TABLE, "+", "deduplicate"),
    "merge on read": tables(ReadKind.MERGE_ON_READ, "++-", "deduplicate"),
    "merge on read, other engines": tables(ReadKind.MERGE_ON_READ, "+", "aggregation", "first-row"),
    "merge on write": tables(ReadKind.MERGE_ON_WRITE, "+", "deduplicate"),
    "merge on write, with retracts": tables(ReadKind.MERGE_ON_WRITE, "+++-", "deduplicate"),
    "changes": tables(ReadKind.CHANGES, "++-", "deduplicate"),
}


def is_the_same(table: StoredTable, predicate: Predicate) -> bool:
    found = pruned_rows(table, table.pruning(predicate))
    return in_order(found) == in_order(selected(all_rows(table), predicate))


def in_order(rows: Sequence[Row]) -> list[str]:
    return sorted(map(repr, rows))


@pytest.mark.parametrize("name", TABLES)
def test_pruning_does_not_change_the_rows_of_a_read(name: str) -> None:
    dropped = 0

    @settings(max_examples=tries(30, many=80), deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(table=TABLES[name], predicates=st.lists(CONDITIONS, min_size=4, max_size=4))
    def holds(table: StoredTable, predicates: list[Predicate]) -> None:
        nonlocal dropped
        for predicate in predicates:
            assert is_the_same(table, predicate)
            tests = table.pruning(predicate).value_statistics_test({0: table.schema})
            dropped += sum(not tests(file.meta) for file in table.files) if tests is not None else 0

    holds()
    assert dropped > 50


def difference(old: list[Row], new: list[Row], predicate: Predicate) -> list[tuple[str, Row]]:
    """Return the rows that differ between two states with row kinds, if the filter selects them."""
    before, after = ({(row["dt"], row["id"]): row for row in rows} for rows in (old, new))
    found = []
    for key in sorted(before.keys() | after.keys()):
        if before.get(key) != after.get(key):
            kinds = ("-U", "+U") if key in before and key in after else ("-D", "+I")
            for kind, rows in zip(kinds, (before, after), strict=True):
                found += [(kind, row) for row in selected([rows[key]] if key in rows else [], predicate)]
    return found


def differs_as_everything(history: Commits, settled: int, predicate: Predicate) -> bool:
    """Return whether pruning keeps the difference between the states before and after the last commit."""
    old, new = stored(history[:-1], ReadKind.DIFFERENCE), stored(history, ReadKind.DIFFERENCE, settled=settled)
    pruned = (kept_state(table, table.pruning(predicate)) for table in (old, new))
    return difference(*pruned, predicate) == difference(all_rows(old), all_rows(new), predicate)


@settings(max_examples=tries(30, many=80), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    history=commits(kinds="++-").filter(lambda found: len(found) > 1), settled=st.integers(0, 4), predicate=CONDITIONS
)
def test_pruning_does_not_change_the_difference_of_two_states(
    history: Commits, settled: int, predicate: Predicate
) -> None:
    assert differs_as_everything(history, min(settled, len(history)), predicate)


# --- the properties detect a broken rule -----------------------------------------------------------------------------


def a_row(id: int, v: int, kind: str = "+") -> Row:
    return {"dt": "a", "id": id, "v": v, "kind": kind}


UPDATED = stored([[a_row(1, 5)], [a_row(1, 7)]], ReadKind.MERGE_ON_READ)
SUMMED = stored([[a_row(1, 2)], [a_row(1, 3)]], ReadKind.MERGE_ON_READ, engine="aggregation")
RETRACTED = stored([[a_row(1, 5)], [a_row(1, 7, "-")]], ReadKind.MERGE_ON_WRITE)
SEVERAL_BUCKETS = stored([[a_row(id, 5) for id in range(10)]], ReadKind.APPEND_TABLE)


def any_file_of_its_own(
    _self: Pruning, files: Sequence[DataFileMeta], may_hold: FileTest, *, merged: bool
) -> Sequence[DataFileMeta]:
    return files if merged and any(map(may_hold, files)) else [file for file in files if may_hold(file)]


@pytest.mark.parametrize(
    ("table", "method", "broken"),
    [
        # Files that must be merged are tested one by one: the old row comes back.
        (UPDATED, "merges", lambda _self, _files: False),
        # Values are tested before the merge: the old row comes back.
        (UPDATED, "_key_part", lambda _self, condition: condition),
        # Stored values are used as values of merged rows: the sum is lost.
        (SUMMED, "kept_files", any_file_of_its_own),
        # A file with a retract row is tested alone: the retracted row comes back.
        (RETRACTED, "merges", lambda _self, _files: False),
        # A bucket is not read: its rows are lost.
        (SEVERAL_BUCKETS, "admits_bucket", lambda _self, bucket, _total: bucket == 0),
    ],
)
def test_a_broken_rule_loses_rows_or_brings_them_back(
    table: StoredTable, method: str, broken: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_the_same(table, VALUE)
    monkeypatch.setattr(Pruning, method, broken)
    assert not is_the_same(table, VALUE)


def test_value_statistics_would_turn_an_update_into_a_delete(monkeypatch: pytest.MonkeyPatch) -> None:
    history = [[a_row(1, 5)], [a_row(1, 7)]]
    assert differs_as_everything(history, 2, VALUE)
    rules = {**RULES, ReadKind.DIFFERENCE: Rules(key_statistics=True, value_statistics=True)}
    monkeypatch.setattr(pruning_module, "RULES", rules)
    assert not differs_as_everything(history, 2, VALUE)
