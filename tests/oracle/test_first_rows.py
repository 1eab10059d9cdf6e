"""The first rows of tables with indexes of ours and of the real Paimon: both read few rows, and the right ones.

Version 0.9 knows no such reads. Java leaves the last cut to its engine: what its reader gives has to hold the first
rows.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from table_format import Table
from tests.oracle.peer import PaimonPeer
from tests.oracle.test_file_indexes import COLUMNS, NO_STATISTICS, append, created, opened
from tests.support.tables import rows_of

VERSION = "1.4.2"
FILES, ROWS, COUNT = 4, 200, 5
# Splits of one file each, so that a limit of splits is one of files.
SINGLE = {"source.split.target-size": "1 b", "source.split.open-file-cost": "1 b", "bucket": "-1", "write-only": "true"}
ORDERS = [
    ("DESCENDING", "NULLS_LAST", "v DESC NULLS LAST"),
    ("DESCENDING", "NULLS_FIRST", "v DESC NULLS FIRST"),
    ("ASCENDING", "NULLS_FIRST", "v NULLS FIRST"),
    ("ASCENDING", "NULLS_LAST", "v NULLS LAST"),
]


@pytest.fixture
def paimon(peers: Callable[[str], PaimonPeer]) -> PaimonPeer:
    return peers(VERSION)


def filled(paimon: PaimonPeer, warehouse: Path, value_of: Callable[[int, int], int | None], **options: str) -> Table:
    """A table of which both write every other file."""
    created(paimon, warehouse, COLUMNS, options={**SINGLE, **options})
    ours = opened(warehouse)
    for file in range(FILES):
        rows: list[list[Any]] = [[ROWS * file + n, f"s{file}", value_of(file, n)] for n in range(ROWS)]
        if file % 2:
            paimon.write(warehouse, "db.t", [["+I", row] for row in rows])
        else:
            append(ours, rows)
    return ours


def first_of(rows: list[list[Any]], direction: str, nulls: str) -> list[int | None]:
    known = sorted((row[2] for row in rows if row[2] is not None), reverse=direction == "DESCENDING")
    missing: list[int | None] = [None] * sum(row[2] is None for row in rows)
    return ([*missing, *known] if nulls == "NULLS_FIRST" else [*known, *missing])[:COUNT]


@pytest.mark.parametrize(("direction", "nulls", "order"), ORDERS, ids=[order for *_, order in ORDERS])
def test_each_finds_the_first_rows_by_the_indexes_of_the_other(
    paimon: PaimonPeer, tmp_path: Path, direction: str, nulls: str, order: str
) -> None:
    def value_of(file: int, n: int) -> int | None:
        return None if (file, n) in ((0, 7), (1, 9)) else (file + FILES * n) * 7919 % 100_003

    options = {"file-index.range-bitmap.columns": "v", **NO_STATISTICS}
    ours = filled(paimon, tmp_path, value_of, **options)
    everything = [[ROWS * file + n, f"s{file}", value_of(file, n)] for file in range(FILES) for n in range(ROWS)]
    wanted = first_of(everything, direction, nulls)
    theirs = paimon.read_first(tmp_path, "db.t", "v", direction, nulls, COUNT)
    assert first_of(theirs["rows"], direction, nulls) == wanted
    assert len(theirs["rows"]) <= FILES * COUNT
    scan = ours.scan(order_by=order, limit=COUNT)
    assert [row["v"] for row in scan.to_arrow().to_pylist()] == wanted
    selected = [rows for split in scan.plan() for rows in split.selections or (None,) * len(split.files)]
    assert sum(ROWS if rows is None else len(rows) for rows in selected) <= len(theirs["rows"])


def test_statistics_leave_out_the_files_that_java_leaves_out_and_more(paimon: PaimonPeer, tmp_path: Path) -> None:
    ours = filled(paimon, tmp_path, lambda file, n: 1000 * file + n)
    descending, ascending = ("s3", "s2", "s1"), ("s0", "s1", "s2")
    ranks = (descending, descending, ascending, ascending)
    for (direction, nulls, order), by_rank in zip(ORDERS, ranks, strict=True):
        for count in (1, 2, 3):
            # Java keeps as many splits as rows are wanted; here it counts how many rows they have.
            theirs = paimon.read_first(tmp_path, "db.t", "v", direction, nulls, count)
            assert (order, theirs["files"], {row[1] for row in theirs["rows"]}) == (
                order,
                count,
                set(by_rank[:count]),
            )
            scan = ours.scan(order_by=order, limit=count)
            kept = [each for split in scan.plan() for each in split.files]
            assert (order, len(kept), set(scan.to_arrow()["s"].to_pylist())) == (order, 1, {by_rank[0]})


def test_both_read_as_many_files_as_a_limit_takes(paimon: PaimonPeer, tmp_path: Path) -> None:
    ours = filled(paimon, tmp_path, lambda file, n: 1000 * file + n)
    everything = set(rows_of(ours))
    for count in (1, ROWS, ROWS + 1, FILES * ROWS, FILES * ROWS + 1):
        theirs = paimon.read_limited(tmp_path, "db.t", count)
        scan = ours.scan(limit=count)
        files = min(-(-count // ROWS), FILES)
        assert (count, theirs["files"]) == (count, files)
        assert (count, sum(len(split.files) for split in scan.plan())) == (count, files)
        found = set(map(tuple, zip(*scan.to_arrow().to_pydict().values(), strict=True)))
        assert len(found) == min(count, FILES * ROWS)
        assert found <= everything
