"""The runs of a compaction and its output level: the table of format chapter 07, section 3."""

from __future__ import annotations

import pytest

from table_format.lsm.levels import Levels, SortedRun, levels_of
from table_format.lsm.universal import CompactUnit, drops_deletes, force_up_level_0, full_compaction, pick_compaction
from table_format.options.compaction import CompactionOptions
from tests.lsm.files import a_file, key_range_of_test_files, names

KEY_RANGE = key_range_of_test_files()
HOUR = 3_600_000
NOON = 12 * HOUR


def tree(*runs: tuple[int, int], num_levels: int = 6) -> Levels:
    """Levels with runs of (level, size), newest first; each is one file, named by its position."""
    files = [a_file(f"{i}", level=level, size=size) for i, (level, size) in enumerate(runs)]
    level0 = tuple(f for f in files if f.level == 0)
    return Levels(level0, tuple(SortedRun(f.level, (f,)) for f in files if f.level), num_levels)


def picked(levels: Levels, **options: int) -> tuple[int, int] | None:
    """Number of files and output level."""
    unit = pick_compaction(levels, CompactionOptions(**options), local_now_ms=NOON)
    return None if unit is None else (len(unit.files), unit.output_level)


@pytest.mark.parametrize(
    ("runs", "trigger", "unit"),
    [
        pytest.param([], 3, None, id="nothing"),
        pytest.param([(0, 1), (0, 1)], 3, None, id="fewer runs than the trigger"),
        pytest.param([(0, 1), (0, 1), (5, 1)], 3, (3, 5), id="size ratio takes equal runs to the top"),
        pytest.param([(0, 10), (0, 20), (0, 7)], 3, (3, 5), id="size amplification takes everything"),
        pytest.param([(0, 1), (0, 1), (5, 1000)], 3, (2, 4), id="output is the level above the next run"),
        pytest.param([(0, 1), (0, 1), (1, 1000), (5, 9000)], 3, (3, 1), id="never to level 0: level 1 joins"),
        pytest.param([(0, 1), (0, 1), (1, 1000)], 3, (3, 5), id="joining the last run means the highest level"),
        pytest.param([(0, 1), (0, 9), (0, 99), (5, 999)], 4, None, id="the next run is always too large"),
        pytest.param([(0, 1), (0, 9), (0, 99), (5, 999)], 3, (2 + 1 + 1, 5), id="too many runs: level 0 is passed"),
        pytest.param([(0, 1), (0, 9), (2, 99), (5, 999)], 3, (2, 1), id="too many runs: as many as are too many"),
        pytest.param([(0, 100), (0, 101), (5, 999)], 3, (2, 4), id="one percent larger still joins"),
        pytest.param([(0, 100), (0, 102), (5, 999)], 3, None, id="two percent larger does not"),
        pytest.param([(5, 1)], 1, None, id="one file at its place stays"),
        pytest.param([(0, 1)], 1, None, id="one run has nothing to join"),
    ],
)
def test_the_unit_picked(runs, trigger, unit):
    assert picked(tree(*runs), trigger=trigger) == unit


def test_the_ratio_and_the_amplification_are_options():
    runs = tree((0, 100), (0, 140), (5, 999))
    assert picked(runs, trigger=3, size_ratio=40) == (2, 4)
    assert picked(runs, trigger=3, max_size_amplification_percent=20) == (3, 5)


@pytest.mark.parametrize(
    ("start", "end", "hour", "unit"),
    [
        (22, 6, 12, None),
        (22, 6, 22, (2, 4)),
        (22, 6, 5, (2, 4)),
        (22, 6, 6, None),
        (9, 13, 12, (2, 4)),
        (9, 12, 12, None),
        (-1, 13, 12, None),
        (12, 12, 12, None),
    ],
)
def test_in_quiet_hours_larger_runs_join(start, end, hour, unit):
    options = CompactionOptions(trigger=3, offpeak_start_hour=start, offpeak_end_hour=end, offpeak_ratio=60)
    found = pick_compaction(tree((0, 100), (0, 150), (5, 999)), options, local_now_ms=30 * 24 * HOUR + hour * HOUR)
    assert (found and (len(found.files), found.output_level)) == unit


@pytest.mark.parametrize(
    ("runs", "options", "unit"),
    [
        pytest.param([(0, 1), (0, 1)], {"optimization_interval_ms": HOUR}, (2, 5), id="never compacted"),
        pytest.param([(0, 1)], {"optimization_interval_ms": HOUR}, None, id="one run"),
        pytest.param([], {"optimization_interval_ms": HOUR}, None, id="nothing"),
        pytest.param([(0, 1), (5, 9)], {"optimization_interval_ms": 11 * HOUR}, (2, 5), id="longer ago"),
        pytest.param([(0, 1), (5, 9)], {"optimization_interval_ms": 12 * HOUR}, None, id="exactly so long ago"),
        pytest.param([(0, 1), (4, 9)], {"optimization_interval_ms": 12 * HOUR}, (2, 5), id="nothing on the top level"),
        pytest.param([(0, 1), (5, 9)], {"total_size_threshold": 11}, (2, 5), id="smaller than the total"),
        pytest.param([(0, 1), (5, 9)], {"total_size_threshold": 10}, None, id="not smaller than the total"),
        pytest.param([(0, 1), (3, 3), (5, 9)], {"incremental_size_threshold": 3}, (3, 5), id="more is new"),
        pytest.param([(0, 1), (3, 3), (5, 9)], {"incremental_size_threshold": 4}, None, id="not more is new"),
    ],
)
def test_everything_is_compacted_by_time_or_size_however_few_the_runs(runs, options, unit):
    assert picked(tree(*runs), **options) == unit


def test_level_0_is_forced_up_at_once_or_when_enough_has_gathered():
    levels = tree((0, 1), (0, 1), (5, 10**9))
    forced = {n: force_up_level_0(levels, CompactionOptions(), local_now_ms=NOON, gathering=n) for n in (None, 2, 3)}
    assert {n: unit and (len(unit.files), unit.output_level) for n, unit in forced.items()} == {
        None: (2, 4),
        2: (2, 4),
        3: None,
    }


def test_seven_flushes_leave_one_file_at_the_highest_level():
    """The trace of format chapter 07, section 3: trigger 3, so the highest level is 3."""
    options = CompactionOptions(trigger=3)
    levels = levels_of([], options.num_levels, KEY_RANGE)
    compactions = []
    for flush in range(1, 8):
        new = a_file(f"flush-{flush}", size=1, sequence=(flush - 1, flush - 1))
        levels = levels_of([*levels.files, new], options.num_levels, KEY_RANGE)
        unit = pick_compaction(levels, options, local_now_ms=NOON)
        if unit:
            compactions.append(flush)
            merged = a_file(f"merged-{flush}", level=unit.output_level, sequence=(flush - 2, flush - 1))
            kept = [f for f in levels.files if f not in unit.files]
            levels = levels_of([*kept, merged], options.num_levels, KEY_RANGE)
    assert compactions == [3, 5, 7]
    assert [(f.level, f.min_sequence_number, f.max_sequence_number) for f in levels.files] == [(3, 5, 6)]


def test_a_full_compaction_takes_all_runs_to_the_highest_level():
    unit = full_compaction(tree((0, 1), (3, 1), (5, 1)))
    assert unit is not None
    assert (names(unit.files), unit.output_level) == (["0", "1", "2"], 5)


@pytest.mark.parametrize("runs", [[], [(5, 1)]])
def test_a_full_compaction_of_compacted_files_does_nothing(runs):
    assert full_compaction(tree(*runs)) is None


def test_a_full_compaction_goes_to_a_level_above_the_configured_ones():
    unit = full_compaction(levels_of([a_file("a", level=7), a_file("b")], 6, KEY_RANGE))
    assert unit is not None
    assert unit.output_level == 7


@pytest.mark.parametrize(
    ("runs", "output", "drops"),
    [
        ([(0, 1), (0, 1)], 0, False),
        ([(0, 1), (0, 1)], 4, True),
        ([(0, 1), (3, 1)], 2, False),
        ([(0, 1), (3, 1)], 3, True),
        ([(0, 1), (3, 1), (5, 1)], 3, False),
        ([(0, 1), (3, 1), (5, 1)], 5, True),
    ],
)
def test_retract_rows_are_dropped_if_nothing_older_is_left(runs, output, drops):
    levels = tree(*runs)
    assert drops_deletes(CompactUnit(levels.files, output), levels) is drops
