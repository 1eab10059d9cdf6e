"""Reading a bucket: which files are merged, and which columns and rows are returned."""

from __future__ import annotations

import gc

import pytest

from table_format.errors import MissingFile
from table_format.lsm.intervals import partition_into_sections
from table_format.lsm.keys import key_ranges
from table_format.lsm.merge_read import is_raw_convertible, read_raw
from table_format.lsm.runs import MAX_FAN_IN, has_disjoint_sequences, oldest_first
from table_format.model.data_file import EMPTY_ROW
from table_format.model.predicate import And, Compare, CompareOp
from table_format.model.types import DataField, IntType
from tests.lsm.files import a_file, key_range_of_test_files
from tests.lsm.tables import UB, A, Bucket, D, sorted_rows, with_fields

WRITE_ONLY = {"write-only": "true"}


def a_bucket(**options: str) -> Bucket:
    """Keys 1 to 4 in two runs that overlap, 9 in a run of its own; key 2 is deleted, key 3 updated."""
    bucket = Bucket({**WRITE_ONLY, **options})
    bucket.write((A, 1, "a", 10), (A, 2, "b", 20), (A, 3, "c", 30))
    bucket.write((D, 2, "b", 20), (A, 3, "C", 31), (A, 4, "d", 40))
    bucket.write((A, 9, "i", 90))
    return bucket


def test_the_newest_row_of_each_key_is_read_and_deleted_keys_are_not():
    assert a_bucket().read("k", "v") == [(1, "a"), (3, "C"), (4, "d"), (9, "i")]


def test_decoding_ahead_on_threads_reads_the_same():
    assert a_bucket().read("k", "v", decode_ahead=True) == a_bucket().read("k", "v")


def test_columns_that_are_not_asked_for_do_not_come_out():
    assert a_bucket().read("s") == [(10,), (31,), (40,), (90,)]
    assert a_bucket().read("v", "k", predicate=Compare("s", CompareOp.GE, 40)) == [("d", 4), ("i", 9)]


def test_retract_rows_and_system_columns_can_be_asked_for():
    rows = a_bucket().read("k", "_VALUE_KIND", "_SEQUENCE_NUMBER", drop_retracts=False)
    assert rows == [(1, 0, 0), (2, 3, 3), (3, 0, 4), (4, 0, 5), (9, 0, 6)]


def test_a_count_needs_no_column():
    bucket = a_bucket()
    for predicate, count in ((None, 4), (Compare("v", CompareOp.EQ, "C"), 1)):
        batches = list(_read_nothing(bucket, predicate))
        assert sum(b.num_rows for b in batches) == count
        assert all(b.num_columns == 0 for b in batches)


def _read_nothing(bucket, predicate):
    from table_format.lsm.merge_read import read_bucket

    return read_bucket(
        bucket.reader(), EMPTY_ROW, 0, bucket.live, bucket.schema, bucket.parsed, (), bucket.pruning(predicate)
    )


def test_a_condition_on_a_value_does_not_return_an_old_row():
    assert a_bucket().read("k", predicate=Compare("v", CompareOp.EQ, "c")) == []
    assert a_bucket().read("k", predicate=Compare("v", CompareOp.EQ, "b")) == []
    both = And((Compare("k", CompareOp.EQ, 3), Compare("v", CompareOp.EQ, "c")))
    assert a_bucket().read("k", predicate=both) == []


def test_a_condition_on_the_key_selects_keys():
    assert a_bucket().read("k", "v", predicate=Compare("k", CompareOp.LT, 4)) == [(1, "a"), (3, "C")]


def test_a_sequence_field_takes_precedence_over_the_order_of_arrival():
    bucket = Bucket({**WRITE_ONLY, "sequence.field": "s"})
    bucket.write((A, 1, "new", 9), (A, 2, "old", None), (A, 3, "same", 5))
    bucket.write((A, 1, "late", 3), (A, 2, "new", 0), (A, 3, "later", 5), (D, 1, None, 4))
    assert bucket.read("k", "v") == [(1, "new"), (2, "new"), (3, "later")]


def test_a_descending_sequence_field_keeps_the_smallest_and_null_is_still_oldest():
    bucket = Bucket({**WRITE_ONLY, "sequence.field": "s", "sequence.field.sort-order": "descending"})
    bucket.write((A, 1, "large", 9), (A, 2, "null", None))
    bucket.write((A, 1, "small", 3), (A, 2, "number", 7))
    assert bucket.read("k", "v") == [(1, "small"), (2, "number")]


def test_update_before_retracts_a_row():
    bucket = Bucket(WRITE_ONLY)
    bucket.write((A, 1, "a", 0))
    bucket.write((UB, 1, "a", 0))
    assert bucket.read() == []


def test_many_runs_are_merged_in_groups_and_read_the_same():
    bucket = Bucket({**WRITE_ONLY, "write-buffer-size": "1 b"})
    count = 2 * MAX_FAN_IN + 5
    bucket.write(*((A, i % 7, f"{i}", i) for i in range(count)), (A, 100, "x", 0))
    for key in range(7):
        bucket.write((A, key, "last", 1), (A, 100, "y", 0))
    assert bucket.read("k", "v") == sorted([*((key, "last") for key in range(7)), (100, "y")], key=repr)


def test_rows_of_concurrent_writers_are_merged_by_sequence_number():
    bucket = Bucket(WRITE_ONLY)
    first, second = bucket.writer(), bucket.writer()
    from tests.lsm.tables import batch_of

    first.write(batch_of([(A, 1, "a", 0), (A, 2, "first", 0), (A, 3, "c", 0)]))
    second.write(batch_of([(A, 2, "second", 0), (A, 1, "B", 0)]))
    bucket.commit(second.prepare(compact=False))
    bucket.commit(first.prepare(compact=False))
    assert bucket.read("k", "v") == [(1, "B"), (2, "first"), (3, "c")]


def test_a_column_added_later_is_null_in_older_files():
    bucket = Bucket(WRITE_ONLY)
    bucket.write((A, 1, "a", 0), (A, 2, "b", 0))
    bucket.schema = with_fields(bucket.schema, DataField(3, "n", IntType()))
    bucket.__post_init__()
    bucket.write((A, 2, "B", 0))
    assert bucket.read("k", "v", "n") == [(1, "a", None), (2, "B", None)]
    bucket.compact()
    assert bucket.live[0].schema_id == 1
    assert bucket.read("k", "v", "n") == [(1, "a", None), (2, "B", None)]


def test_a_missing_file_is_an_error_that_names_it():
    bucket = a_bucket()
    name = bucket.live[0].file_name
    bucket.store.io.delete(bucket.store.paths.data_file("", 0, bucket.live[0]))
    with pytest.raises(MissingFile, match=name):
        bucket.read()


def test_a_reader_that_stops_early_leaves_no_thread_behind():
    import threading

    from table_format.lsm.merge_read import read_bucket

    bucket = a_bucket()
    before = threading.active_count()
    batches = read_bucket(
        bucket.reader(),
        EMPTY_ROW,
        0,
        bucket.live,
        bucket.schema,
        bucket.parsed,
        bucket.schema.fields,
        None,
        decode_ahead=True,
    )
    next(batches)
    batches.close()
    gc.collect()
    assert threading.active_count() == before


@pytest.mark.parametrize(
    ("files", "raw"),
    [
        ([], True),
        ([a_file("a", level=5)], True),
        ([a_file("a", level=5), a_file("b", level=5)], True),
        ([a_file("a", level=5), a_file("b", level=4)], False),
        ([a_file("a")], False),
        ([a_file("a", level=5, deletes=1)], False),
        ([a_file("a", level=5, deletes=None)], False),
    ],
)
def test_files_can_be_concatenated_when_compacted_without_retracts_on_one_level(files, raw):
    assert is_raw_convertible(files) is raw


def test_a_compacted_bucket_is_read_without_a_merge():
    bucket = a_bucket()
    bucket.compact()
    assert is_raw_convertible(bucket.live)
    fields = bucket.schema.select(["k", "v"])
    predicate = Compare("s", CompareOp.GT, 10)
    batches = read_raw(bucket.reader(), EMPTY_ROW, 0, bucket.live, bucket.schema, fields, bucket.pruning(predicate))
    assert sorted_rows(batches, fields) == [(3, "C"), (4, "d"), (9, "i")]


@pytest.mark.parametrize(
    ("sequences", "disjoint"), [([(0, 4), (5, 9)], True), ([(5, 9), (0, 5)], False), ([(0, 9), (3, 4)], False)]
)
def test_runs_are_told_apart_by_their_sequence_numbers_when_these_are_disjoint(sequences, disjoint):
    files = [a_file(str(i), sequence=s) for i, s in enumerate(sequences)]
    (section,) = partition_into_sections(files, key_range_of_test_files())
    assert has_disjoint_sequences(section) is disjoint


def test_runs_are_ordered_oldest_first():
    files = [a_file("new", sequence=(5, 9)), a_file("old", level=5, sequence=(0, 4)), a_file("tie", sequence=(0, 4))]
    (section,) = partition_into_sections(files, key_range_of_test_files())
    assert [run[0].file_name for run in oldest_first(section)] == ["old", "tie", "new"]


def test_sections_of_the_bucket_used_here():
    bucket = a_bucket()
    assert [len(s) for s in partition_into_sections(bucket.live, key_ranges(bucket.schema))] == [2, 1]
