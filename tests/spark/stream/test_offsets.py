"""Offsets: what a checkpoint holds, and what they say of the position."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from table_format.errors import InvalidInputError
from table_format.spark.stream.offsets import Offset, Origin
from tests.support.tables import disk_warehouse, keyed


def test_an_offset_is_preserved_in_a_checkpoint() -> None:
    for origin in (None, Origin(snapshot=3, is_state=True), Origin(snapshot=1, is_state=False)):
        offset = Offset.beginning("t", origin)
        assert Offset.of(json.loads(json.dumps(offset.to_json()))) == offset


@pytest.mark.parametrize("json", [{}, {"snapshotId": 1, "index": 0, "scanSnapshot": False}, {"version": 2}])
def test_an_invalid_offset_is_refused(json: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError, match="new checkpoint"):
        Offset.of(json)


def test_an_offset_records_how_much_of_a_snapshot_was_read(tmp_path: Path) -> None:
    table = disk_warehouse(tmp_path).table(primary_keys=["id"])
    table.append(keyed([(n, "a", n) for n in range(9)]))
    snapshot, splits = table.latest_snapshot(), table.scan().plan().splits
    assert snapshot is not None
    assert len(splits) == 2
    begin = Offset.beginning("t", Origin(snapshot=1, is_state=True))
    half, whole = begin.after(snapshot, splits, 1), begin.after(snapshot, splits, 2)
    assert [o.has_begun for o in (begin, half, whole)] == [False, True, True]
    assert [o.is_complete for o in (begin, half, whole)] == [False, False, True]
    assert [o.next_snapshot for o in (begin, half, whole)] == [1, 1, 2]
    assert half.files not in ("", whole.files)
    assert half.to_json() == {**whole.to_json(), "read": 1, "files": half.files}
