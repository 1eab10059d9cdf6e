"""NaN in a sequence field: up to 1.4.2, Paimon compares it as equal to every number, so that there is no order.

Here NaN is above all numbers, as in Paimon from 2.0 on. docs/merge-engines.md says so.
"""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path

import pyarrow as pa

from table_format import Schema, load_catalog
from tests.oracle.install import LATEST
from tests.oracle.peer import PaimonPeer

ROWS = pa.schema([pa.field("k", pa.int64(), nullable=False), ("s", pa.float64()), ("v", pa.int64())])
HISTORIES = [*product([math.nan, 1.0, 2.0, 3.0], repeat=4)]
"""The sequence of each commit, by key; ``v`` is the number of the commit."""


def test_the_row_with_nan_stays_here_and_depends_on_compactions_in_paimon_before_2(
    paimon: PaimonPeer, tmp_path: Path
) -> None:
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    ours, theirs = [], []
    for name in ("db.files", "db.compacted"):
        options = {"bucket": "1", "write-only": "true", "sequence.field": "s"}
        table = catalog.create_table(name, Schema.from_arrow(ROWS, ["k"], options=options))
        for commit in range(4):
            rows = [(k, history[commit], commit) for k, history in enumerate(HISTORIES)]
            table.append(pa.table([list(column) for column in zip(*rows, strict=True)], schema=ROWS))
            if name == "db.compacted" and commit == 2:
                paimon.compact(tmp_path, name, {"write-only": "false"})
        theirs.append([row[2] for row in sorted(paimon.read(tmp_path, name)["rows"])])
        ours.append(table.scan().to_arrow().sort_by("k")["v"].to_pylist())
    # The last of the rows with the highest sequence.
    highest = [max((math.isnan(s), s, commit) for commit, s in enumerate(history))[2] for history in HISTORIES]
    assert ours[0] == highest
    if paimon.version == LATEST:
        assert theirs == [highest, highest]
    else:
        assert theirs[0] != theirs[1]
