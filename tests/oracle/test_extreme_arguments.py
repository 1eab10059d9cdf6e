"""What the library accepts at the edges of an argument's type, the real Paimon reads as well."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from table_format import Table
from table_format.limits import MAX_COMMIT_USER_BYTES
from table_format.metastore.references.tag_store import MAX_RETAINED_MS
from table_format.model.schema_change import AddColumn, SetColumnComment, SetComment, SetOption
from table_format.model.types import VarCharType
from tests.oracle.peer import PaimonPeer
from tests.support.tables import disk_warehouse, keyed

ODD_TEXT = '\x01\x1f"\\\n\t\u2028\x7f🎈é日本' * 3
LONG = 2**63 - 1


def _written(warehouse: Path) -> Table:
    found = disk_warehouse(warehouse)
    table = found.table("t", primary_keys=["id", "dt"], partition_keys=["dt"])
    properties = {ODD_TEXT: ODD_TEXT, "": "", "large": "x" * 100_000}
    for number, (user, identifier) in enumerate(
        [("u" * MAX_COMMIT_USER_BYTES, -LONG - 1), (ODD_TEXT, LONG - 1), ("int64 of NumPy", np.int64(7))]
    ):
        commit = table.new_commit(user)
        messages = table.new_write(user).write(keyed([(number, ODD_TEXT[:3] + "é" * 100, 1)]))
        commit.commit(messages, identifier=identifier, watermark=(LONG, -LONG - 1, 0)[number], properties=properties)
    table.create_tag("for.ever", time_retained_ms=MAX_RETAINED_MS)
    table.create_tag("for no time", time_retained_ms=0)
    table.create_tag("日" * 69, 1)
    table.reset_consumer("c" * 204, LONG)
    table.analyze(["id", "dt", "v"])
    found.catalog.alter_table(
        "db.t",
        [
            SetComment(ODD_TEXT),
            AddColumn(ODD_TEXT[6:9] + ".`x`", VarCharType(), comment=ODD_TEXT),
            SetColumnComment("v", ""),
            SetOption("snapshot.time-retained", "106751991167 d"),
        ],
    )
    return found.reopened(table)


def test_the_real_paimon_reads_what_is_accepted(tmp_path: Path, peers: Callable[[str], PaimonPeer]):
    table = _written(tmp_path)
    paimon = peers("1.4.2")
    assert len(paimon.read(tmp_path, "db.t")["rows"]) == len(table.scan().to_arrow())
    snapshots = paimon.system_table(tmp_path, "db.t$snapshots")
    users = [row[snapshots["columns"].index("commit_user")] for row in snapshots["rows"]]
    assert users[:3] == [snapshot.commit_user for snapshot in table.snapshots()][:3]
    assert {row[0] for row in paimon.system_table(tmp_path, "db.t$tags")["rows"]} == set(table.tags())
    assert paimon.system_table(tmp_path, "db.t$consumers")["rows"] == [["c" * 204, LONG]]
    assert paimon.read(tmp_path, "db.t", scan_tag_name="for.ever")["rows"]
    assert len(paimon.system_table(tmp_path, "db.t$schemas")["rows"]) == 2
    assert len(paimon.system_table(tmp_path, "db.t$statistics")["rows"]) == 1
