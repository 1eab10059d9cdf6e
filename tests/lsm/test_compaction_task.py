"""What a compaction does with each file: merge, upgrade, or leave alone."""

from __future__ import annotations

from table_format.lsm.compaction_task import Rewrite, Upgrade, plan_steps
from table_format.lsm.universal import CompactUnit
from tests.lsm.files import a_file, key_range_of_test_files

BIG, SMALL = 100, 10


def steps(*files, output: int = 5, max_level: int = 5, must: str = "") -> list[str]:
    planned = plan_steps(
        CompactUnit(files, output),
        max_level=max_level,
        small_file_bytes=70,
        key_range=key_range_of_test_files(),
        must_rewrite=lambda file: file.file_name in must,
    )
    return [
        "rewrite " + " ".join(f.file_name for f in step.files) if isinstance(step, Rewrite) else _upgrade(step)
        for step in planned
    ]


def _upgrade(step: Upgrade) -> str:
    return f"upgrade {step.file.file_name}"


def test_overlapping_files_are_merged():
    assert steps(a_file("a", keys=(0, 5), size=BIG), a_file("b", keys=(5, 9), size=BIG)) == ["rewrite a b"]


def test_a_big_file_alone_is_upgraded():
    assert steps(a_file("a", size=BIG)) == ["upgrade a"]


def test_a_small_file_alone_is_upgraded_as_well():
    assert steps(a_file("a", size=SMALL)) == ["upgrade a"]


def test_adjacent_small_files_are_merged_together():
    assert steps(a_file("a", keys=(0, 1), size=SMALL), a_file("b", keys=(2, 3), size=SMALL)) == ["rewrite a b"]


def test_small_files_join_the_overlap_before_them_and_a_big_file_ends_the_gathering():
    files = [
        a_file("a", keys=(0, 5), size=BIG),
        a_file("b", keys=(3, 6), size=BIG),
        a_file("c", keys=(7, 8), size=SMALL),
        a_file("d", keys=(9, 10), size=BIG),
        a_file("e", keys=(11, 12), size=SMALL),
    ]
    assert steps(*files) == ["rewrite a b c", "upgrade d", "upgrade e"]


def test_a_file_that_is_already_in_place_does_not_change():
    assert steps(a_file("a", level=5, keys=(0, 1), size=BIG), a_file("b", keys=(2, 3), size=BIG)) == ["upgrade b"]


def test_a_file_with_retract_rows_is_rewritten_when_it_goes_to_the_highest_level():
    for deletes in (1, None):
        assert steps(a_file("a", size=BIG, deletes=deletes)) == ["rewrite a"]
        assert steps(a_file("a", size=BIG, deletes=deletes, level=5)) == ["rewrite a"]
        assert steps(a_file("a", size=BIG, deletes=deletes), output=4) == ["upgrade a"]


def test_a_file_that_must_be_rewritten_is_rewritten_wherever_it_is():
    files = [a_file("a", level=5, keys=(0, 1), size=BIG), a_file("b", keys=(2, 3), size=BIG)]
    assert steps(*files, must="ab") == ["rewrite a", "rewrite b"]
    assert steps(*files, must="a", output=4) == ["rewrite a", "upgrade b"]
