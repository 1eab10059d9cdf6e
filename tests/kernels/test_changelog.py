"""The changes of small compaction steps."""

from __future__ import annotations

import pyarrow as pa
import pytest

from table_format.kernels.changelog import Grouped, Merged, changes, merge_onto
from table_format.kernels.engines import PartialUpdate
from table_format.kernels.merge import MergeSpec
from table_format.model.row_kind import RowKind

A, D = RowKind.INSERT, RowKind.DELETE
SPEC = MergeSpec(("k",), by_sequence_number=False)


def part(*rows: tuple[int, int, str | None, int]) -> pa.RecordBatch:
    """Rows of kind, k, v, level."""
    kinds, keys, values, levels = zip(*rows, strict=True)
    columns = {"k": keys, "v": pa.array(values, pa.string())}
    return pa.record_batch(
        {**columns, "_VALUE_KIND": pa.array(map(int, kinds), pa.int8()), "_LEVEL": pa.array(levels, pa.int32())}
    )


def shown(rows: pa.RecordBatch) -> list[tuple[object, ...]]:
    kinds = [RowKind(kind).text for kind in rows.column("_VALUE_KIND").to_pylist()]
    return list(zip(kinds, rows.column("k").to_pylist(), rows.column("v").to_pylist(), strict=True))


def of_full_compaction(*parts: pa.RecordBatch, top: int) -> Merged:
    versions = Grouped.of(parts, SPEC)
    before = versions.levels == top
    return merge_onto(versions, before, versions.any_of_key(~before), SPEC)


def test_only_keys_with_a_version_below_the_top_have_news() -> None:
    old = part((A, 1, "a", 5), (A, 2, "b", 5), (A, 3, "c", 5), (A, 4, "d", 5))
    new = part((A, 2, "x", 0), (D, 3, "c", 0), (A, 4, "d", 0), (A, 5, "e", 0), (D, 6, "f", 0))
    merged = of_full_compaction(old, new, top=5)
    rows = [("+I", 1, "a"), ("+I", 2, "x"), ("-D", 3, "c"), ("+I", 4, "d"), ("+I", 5, "e"), ("-D", 6, "f")]
    assert shown(merged.rows) == rows
    updates = [("-U", 2, "b"), ("+U", 2, "x"), ("-D", 3, "c")]
    assert shown(changes(merged, SPEC)) == [*updates, ("-U", 4, "d"), ("+U", 4, "d"), ("+I", 5, "e")]
    assert shown(changes(merged, SPEC, compared=["v"])) == [*updates, ("+I", 5, "e")]
    assert shown(changes(merged, SPEC, compared=[])) == [("-D", 3, "c"), ("+I", 5, "e")]


@pytest.mark.parametrize("top", [0, 3])
def test_a_step_of_one_run_is_all_news_or_none(top: int) -> None:
    merged = of_full_compaction(part((A, 1, "a", 3), (A, 2, None, 3)), top=top)
    assert shown(merged.rows) == [("+I", 1, "a"), ("+I", 2, None)]
    assert shown(changes(merged, SPEC)) == ([] if top == 3 else shown(merged.rows))


def test_of_several_higher_versions_the_lowest_stands_for_all() -> None:
    spec = MergeSpec(("k",), by_sequence_number=False, engine=PartialUpdate(), lowest_level_only=True)
    parts = [
        part((A, 1, "outdated", 5), (A, 2, "outdated", 5)),
        part((A, 1, "old", 4), (A, 2, "old", 4)),
        part((A, 1, None, 0)),
    ]
    versions = Grouped.of(parts, spec)
    merged = merge_onto(versions, versions.lowest_above_0(), versions.any_of_key(versions.levels == 0), spec)
    assert shown(merged.rows) == [("+I", 1, "old"), ("+I", 2, "old")]
    assert shown(changes(merged, spec)) == [("-U", 1, "old"), ("+U", 1, "old")]


def test_changes_are_taken_from_the_versions_without_other_copies() -> None:
    old, new = part((A, 1, "a", 5), (A, 2, "b", 5)), part((D, 1, "a", 0), (A, 2, "c", 0), (A, 3, "d", 0))
    merged = of_full_compaction(old, new, top=5)
    assert shown(changes(merged, SPEC)) == [("-D", 1, "a"), ("-U", 2, "b"), ("+U", 2, "c"), ("+I", 3, "d")]
    assert not vars(merged).keys() & {"before", "after"}


def test_a_retract_among_the_previous_rows_is_not_a_row() -> None:
    old, new = part((D, 1, "a", 5), (A, 2, "b", 5)), part((A, 1, "x", 0), (D, 2, "b", 0), (D, 3, "c", 0))
    merged = of_full_compaction(old, new, top=5)
    assert shown(changes(merged, SPEC)) == [("+I", 1, "x"), ("-D", 2, "b")]
