"""Random histories of one bucket, compared with a dictionary: the rows, and the invariants of the tree."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from table_format.model.predicate import Compare, CompareOp
from table_format.model.row_kind import RowKind
from tests.lsm.tables import UA, UB, A, Bucket, D, Row

WRITE, MINOR, FULL = "write", "compaction", "full compaction"


def histories(kinds: list[RowKind], steps: list[str]) -> st.SearchStrategy[list[tuple[str, list[Row]]]]:
    """Writes of a few rows each, with other steps in between."""
    row = st.tuples(
        st.sampled_from(kinds),
        st.integers(0, 12),
        st.one_of(st.none(), st.sampled_from(["a", "b", "ab"])),
        st.one_of(st.none(), st.integers(0, 5)),
    )
    write = st.tuples(st.just(WRITE), st.lists(row, max_size=12))
    other = st.tuples(st.sampled_from(steps), st.just([])) if steps else write
    return st.lists(st.one_of(write, write, other), max_size=8)


OPTIONS = st.fixed_dictionaries(
    {
        "num-sorted-run.compaction-trigger": st.sampled_from(["2", "3", "5"]),
        "write-buffer-size": st.sampled_from(["64 b", "300 b", "1 mb"]),
        "write-only": st.sampled_from(["true", "false"]),
        "target-file-size": st.sampled_from(["1 b", "1 mb"]),
    }
)


class Model:
    """The contents of a table with ``deduplicate``, by definition."""

    def __init__(self, options: dict[str, str]) -> None:
        self.newest: dict[int, Row] = {}
        self.ignore_delete = options.get("ignore-delete") == "true"
        self.by_sequence = "sequence.field" in options
        self.descending = options.get("sequence.field.sort-order") == "descending"

    def write(self, row: Row) -> None:
        if self.ignore_delete and row[0].is_retract:
            return
        held = self.newest.get(row[1])
        if held is None or not self.by_sequence or self._order(row) >= self._order(held):
            self.newest[row[1]] = row

    def _order(self, row: Row) -> tuple[bool, int]:
        sequence = row[3]
        return (sequence is not None, (-sequence if self.descending else sequence) if sequence is not None else 0)

    def rows(self) -> list[tuple[str | None, int, int | None]]:
        return sorted(((r[2], r[1], r[3]) for r in self.newest.values() if not r[0].is_retract), key=repr)


def run(options: dict[str, str], steps: list[tuple[str, list[Row]]]) -> None:
    bucket, model = Bucket(options), Model(options)
    for step, rows in steps:
        if step == WRITE:
            for row in rows:
                model.write(row)
            bucket.write(*rows, compact=options["write-only"] == "false")
        else:
            before = bucket.read()
            bucket.compact(full=step == FULL)
            assert bucket.read() == before
        assert bucket.read() == model.rows()
        if step == FULL:
            assert len(bucket.levels.runs) <= 1
            assert all(f.delete_row_count == 0 for f in bucket.live)
            assert all(f.level == bucket.levels.max_level for f in bucket.live)
    assert bucket.read("k") == [(k,) for _, k, _ in sorted(model.rows(), key=lambda r: repr((r[1],)))]
    assert bucket.read(predicate=Compare("k", CompareOp.GT, 5)) == [r for r in model.rows() if r[1] > 5]
    assert bucket.read(predicate=Compare("v", CompareOp.EQ, "a")) == [r for r in model.rows() if r[0] == "a"]


@settings(max_examples=25, deadline=None, derandomize=True)
@given(OPTIONS, histories([A, A, A, UA, UB, D, D], [MINOR, FULL]))
def test_the_last_row_of_a_key_is_what_is_read(options, steps):
    run(options, steps)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(OPTIONS, histories([A, UA], [MINOR, FULL]), st.sampled_from(["ascending", "descending"]))
def test_the_row_with_the_last_sequence_field_is_what_is_read(options, steps, order):
    run({**options, "sequence.field": "s", "sequence.field.sort-order": order}, steps)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(OPTIONS, histories([A, A, UA, UB, D], []), st.sampled_from(["ascending", "descending"]))
def test_an_older_row_does_not_undo_a_delete_before_compaction_forgets_it(options, steps, order):
    run({**options, "write-only": "true", "sequence.field": "s", "sequence.field.sort-order": order}, steps)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(OPTIONS, histories([A, UA, UB, D], [MINOR, FULL]))
def test_with_ignore_delete_the_last_added_row_is_what_is_read(options, steps):
    run({**options, "ignore-delete": "true"}, steps)
