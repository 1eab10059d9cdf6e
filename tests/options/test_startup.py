"""Which mode a scan starts in, and which starting points exclude each other."""

from __future__ import annotations

from itertools import combinations

import pytest

from table_format.errors import InvalidOption
from table_format.options.scan import STARTING_POINTS
from table_format.options.startup import StartupMode, startup_mode

POINTS = {option.key: "1,2" if "between" in option.key else "1" for option in STARTING_POINTS}


@pytest.mark.parametrize(
    ("options", "mode"),
    [
        ({}, StartupMode.LATEST_FULL),
        ({"scan.mode": "default"}, StartupMode.LATEST_FULL),
        ({"scan.mode": "full"}, StartupMode.LATEST_FULL),
        ({"log.scan": "latest"}, StartupMode.LATEST),
        ({"scan.mode": "compacted-full"}, StartupMode.COMPACTED_FULL),
        ({"scan.timestamp-millis": "1"}, StartupMode.FROM_TIMESTAMP),
        ({"scan.timestamp": "2026-01-01"}, StartupMode.FROM_TIMESTAMP),
        ({"scan.snapshot-id": "1"}, StartupMode.FROM_SNAPSHOT),
        ({"scan.watermark": "1"}, StartupMode.FROM_SNAPSHOT),
        ({"scan.version": "1"}, StartupMode.FROM_SNAPSHOT),
        ({"scan.mode": "from-snapshot-full", "scan.snapshot-id": "1"}, StartupMode.FROM_SNAPSHOT_FULL),
        ({"scan.file-creation-time-millis": "1"}, StartupMode.FROM_FILE_CREATION_TIME),
        ({"scan.creation-time-millis": "1"}, StartupMode.FROM_CREATION_TIMESTAMP),
        ({"incremental-between": "1,2"}, StartupMode.INCREMENTAL),
        ({"scan.mode": "incremental", "incremental-between-timestamp": "1,2"}, StartupMode.INCREMENTAL),
        ({"incremental-to-auto-tag": "2026-11-29"}, StartupMode.INCREMENTAL),
    ],
)
def test_the_mode_follows_from_the_starting_point(options: dict[str, str], mode: StartupMode) -> None:
    assert startup_mode(options) is mode


@pytest.mark.parametrize("pair", list(combinations(POINTS, 2)), ids=lambda pair: "+".join(pair))
def test_two_starting_points_exclude_each_other(pair: tuple[str, str]) -> None:
    with pytest.raises(InvalidOption, match="a scan has one starting point") as caught:
        startup_mode({key: POINTS[key] for key in pair})
    assert caught.value.key in pair


@pytest.mark.parametrize("key", POINTS)
@pytest.mark.parametrize("mode", list(StartupMode))
def test_a_starting_point_belongs_to_its_mode_alone(key: str, mode: StartupMode) -> None:
    own = startup_mode({key: POINTS[key]})
    given = {key: POINTS[key], "scan.mode": mode.value}
    if mode is own or (mode is StartupMode.FROM_SNAPSHOT_FULL and key == "scan.snapshot-id"):
        assert startup_mode(given) is mode
        return
    with pytest.raises(InvalidOption, match=f"has no effect with scan.mode='{mode.value}'") as caught:
        startup_mode(given)
    assert caught.value.key == key


@pytest.mark.parametrize("mode", [m for m in StartupMode if m.value.startswith("from-") or m.value == "incremental"])
def test_a_mode_that_needs_a_starting_point_says_which(mode: StartupMode) -> None:
    with pytest.raises(InvalidOption, match=f"'{mode.value}' needs one of"):
        startup_mode({"scan.mode": mode.value})
