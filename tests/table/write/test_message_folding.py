"""Several messages of one bucket as one."""

from __future__ import annotations

from table_format.model.commit import CommitMessage
from table_format.model.data_file import EMPTY_ROW, EMPTY_STATS, DataFileMeta
from table_format.table.write.message_folding import fold


def file(name: str, level: int = 0) -> DataFileMeta:
    return DataFileMeta(
        file_name=name,
        file_size=1,
        row_count=1,
        min_key=EMPTY_ROW,
        max_key=EMPTY_ROW,
        key_stats=EMPTY_STATS,
        value_stats=EMPTY_STATS,
        min_sequence_number=0,
        max_sequence_number=0,
        schema_id=0,
        level=level,
    )


def message(
    bucket: int = 0,
    new: tuple[DataFileMeta, ...] = (),
    before: tuple[DataFileMeta, ...] = (),
    after: tuple[DataFileMeta, ...] = (),
) -> CommitMessage:
    return CommitMessage(
        partition=EMPTY_ROW,
        bucket=bucket,
        total_buckets=2,
        new_files=new,
        compact_before=before,
        compact_after=after,
    )


def test_messages_of_different_buckets_stay_apart_and_empty_ones_vanish() -> None:
    first, second = message(0, (file("a"),)), message(1, (file("b"),))
    assert fold([first, message(0), second]).messages == (first, second)


def test_new_files_of_one_bucket_are_added_up() -> None:
    folded = fold([message(0, (file("a"),)), message(1, (file("x"),)), message(0, (file("b"),))])
    assert [tuple(f.file_name for f in m.new_files) for m in folded.messages] == [("a", "b"), ("x",)]


def test_a_file_made_and_consumed_by_compactions_is_left_over() -> None:
    first = message(0, (file("a"),), before=(file("old"), file("a")), after=(file("m", 5),))
    second = message(0, (file("b"),), before=(file("m", 5), file("b")), after=(file("n", 5),))
    [folded] = fold([first, second]).messages
    assert folded.compact_before == (file("old"), file("a"), file("b"))
    assert folded.compact_after == (file("n", 5),)
    assert [left.file.file_name for left in fold([first, second]).left_over] == ["m"]


def test_an_upgraded_file_is_never_left_over() -> None:
    first = message(0, (file("a"),), before=(file("a"),), after=(file("a", 4),))
    second = message(0, before=(file("a", 4),), after=(file("n", 5),))
    folded = fold([first, second])
    assert folded.messages[0].compact_before == (file("a"),)
    assert folded.left_over == ()
