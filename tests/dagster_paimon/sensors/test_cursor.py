"""Following the snapshots of a table: each is reported once, rollbacks are detected, and nothing is repeated."""

from __future__ import annotations

import pytest

from dagster_paimon.sensors.cursor import ReportedSnapshot, Trail, decode_cursor, encode_cursor, follow, remembered
from table_format.model.snapshot import CommitKind, Snapshot


class History:
    """Snapshots of a table: ``marks`` by id. The time of each is its id, or later by ``later``."""

    def __init__(self, marks: dict[int, str], later: dict[int, int] | None = None) -> None:
        self._marks = marks
        self._later = later or {}

    def latest_id(self) -> int | None:
        return max(self._marks, default=None)

    def earliest_id(self) -> int | None:
        return min(self._marks, default=None)

    def find(self, snapshot_id: int) -> Snapshot | None:
        mark = self._marks.get(snapshot_id)
        if mark is None:
            return None
        return Snapshot(
            id=snapshot_id,
            schema_id=0,
            base_manifest_list="b",
            delta_manifest_list="d",
            commit_user="u",
            commit_identifier=1,
            commit_kind=CommitKind.APPEND,
            time_millis=snapshot_id + self._later.get(snapshot_id, 0),
            uuid=mark,
        )


def trail(**marks: str) -> Trail:
    return tuple(ReportedSnapshot(int(name[1:]), mark) for name, mark in marks.items())


A_TO_E = {1: "a", 2: "b", 3: "c", 4: "d", 5: "e"}
SEEN = trail(s1="a", s2="b", s3="c", s4="d")


@pytest.mark.parametrize(
    ("seen", "now", "reported", "rolled_back_from", "missed"),
    [
        ((), {}, [], None, 0),
        ((), A_TO_E, [1, 2, 3, 4, 5], None, 0),
        ((), {7: "x", 8: "y"}, [7, 8], None, 0),
        (SEEN, A_TO_E, [5], None, 0),
        (SEEN, {1: "a", 2: "b", 3: "c", 4: "d"}, [], None, 0),
        # expired in the meantime
        (SEEN, {4: "d", 5: "e"}, [5], None, 0),
        (SEEN, {5: "e", 6: "f"}, [5, 6], None, 0),
        (SEEN, {7: "g", 8: "h"}, [7, 8], None, 2),
        # rolled back to 2, and nothing since: the table is at 2 again
        (SEEN, {1: "a", 2: "b"}, [2], 4, 0),
        # rolled back to 2, then other commits, fewer and more than before
        (SEEN, {1: "a", 2: "b", 3: "C"}, [3], 4, 0),
        (SEEN, {1: "a", 2: "b", 3: "C", 4: "D", 5: "E"}, [3, 4, 5], 4, 0),
        # dropped and created again, empty and with rows
        (SEEN, {}, [], 4, 0),
        (SEEN, {1: "A"}, [1], 4, 0),
        (SEEN, {1: "A", 2: "B", 3: "C", 4: "D", 5: "E", 6: "F"}, [1, 2, 3, 4, 5, 6], 4, 0),
    ],
)
def test_new_snapshots_are_reported_for_every_history(
    seen: Trail, now: dict[int, str], reported: list[int], rolled_back_from: int | None, missed: int
) -> None:
    news = follow(seen, History(now), limit=100)
    assert [s.id for s in news.snapshots] == reported
    assert (news.rolled_back_from, news.missed) == (rolled_back_from, missed)
    again = follow(news.trail, History(now), limit=100)
    assert (again.snapshots, again.rolled_back_from) == ((), None)


def test_a_long_history_is_reported_in_parts_and_in_order() -> None:
    history = History({number: f"m{number}" for number in range(1, 251)})
    seen: Trail = ()
    found: list[int] = []
    for _ in range(4):
        news = follow(seen, history, limit=100)
        found += [s.id for s in news.snapshots]
        seen = news.trail
    assert found == list(range(1, 251))
    assert len(seen) == 20


def test_a_cursor_preserves_its_trails() -> None:
    assert decode_cursor(encode_cursor({"a.b": SEEN, "c.d": ()})) == {"a.b": SEEN, "c.d": ()}
    assert decode_cursor(None) == decode_cursor("") == {}


LONG = {number: f"m{number}" for number in range(1, 51)}


@pytest.mark.parametrize(
    ("now", "times", "reported"),
    [
        ({n: LONG[n] for n in range(1, 11)}, 0, [10]),
        ({n: LONG[n] for n in range(4, 11)}, 0, [10]),
        ({**{n: LONG[n] for n in range(1, 11)}, 11: "other", 12: "another"}, 100, [11, 12]),
        ({n: f"of a new table {n}" for n in range(1, 4)}, 100, [1, 2, 3]),
    ],
)
def test_after_a_rollback_beyond_the_trail_only_new_snapshots_are_reported(
    now: dict[int, str], times: int, reported: list[int]
) -> None:
    seen = follow((), History(LONG), limit=100).trail
    assert seen[0].id == 31
    seen = decode_cursor(encode_cursor({"a.b": seen}))["a.b"]
    found = History(now, later={number: times for number, mark in now.items() if mark not in LONG.values()})
    news = follow(seen, found, limit=100)
    assert ([s.id for s in news.snapshots], news.rolled_back_from) == (reported, 50)
    assert follow(news.trail, found, limit=100).snapshots == ()


def test_a_cursor_of_an_earlier_version_has_no_times() -> None:
    assert decode_cursor('{"a.b": [[3, "a"], [4, "b"]]}')["a.b"] == trail(s3="a", s4="b")


HOUR_MS = 3_600_000


@pytest.mark.parametrize(
    ("now", "reported", "rolled_back_from"),
    [
        ({n: LONG[n] for n in range(1, 46)}, [45], 50),
        ({**{n: LONG[n] for n in range(1, 46)}, 46: "other", 47: "another"}, [46, 47], 50),
        ({**LONG, 51: "next"}, [51], None),
    ],
)
def test_of_a_quiet_table_only_the_last_snapshot_is_remembered_and_a_rollback_is_still_exact(
    now: dict[int, str], reported: list[int], rolled_back_from: int | None
) -> None:
    trails = {"a.b": follow((), History(LONG), limit=100).trail}
    assert [seen.id for seen in remembered(trails, ["a.b"], now_ms=60)["a.b"]] == list(range(31, 51))
    quiet = decode_cursor(encode_cursor(remembered(trails, ["a.b"], now_ms=2 * HOUR_MS)))["a.b"]
    assert [seen.id for seen in quiet] == [50]
    found = History(now, later={number: 3 * HOUR_MS for number, mark in now.items() if mark not in LONG.values()})
    news = follow(quiet, found, limit=100)
    assert ([s.id for s in news.snapshots], news.rolled_back_from) == (reported, rolled_back_from)


def test_the_cursor_of_many_quiet_tables_is_small_and_forgets_tables_that_are_long_gone() -> None:
    trail = follow((), History({n: f"{n:036}" for n in range(1, 30)}), limit=100).trail
    trails = {f"a.t{n:03}": trail for n in range(400)}
    existing = [f"a.t{n:03}" for n in range(200, 400)]
    kept = remembered(trails, existing, now_ms=2 * HOUR_MS)
    assert list(kept) == [f"a.t{n:03}" for n in range(100, 400)]
    assert len(encode_cursor(kept)) < 40 * len(kept)


def test_a_cursor_of_an_earlier_version_with_full_fingerprints_is_understood() -> None:
    seen = (ReportedSnapshot(4, "d", 4),)
    assert [s.id for s in follow(seen, History(A_TO_E), limit=100).snapshots] == [5]
