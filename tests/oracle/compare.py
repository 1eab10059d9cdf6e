"""Row for row: what we read and what the real Paimon reads, of the same table at the same snapshot."""

from __future__ import annotations

from pathlib import Path

from table_format import Catalog, load_catalog
from tests.oracle.peer import PaimonPeer
from tests.support.json_rows import json_rows, rows_with_floats


def assert_same_at_every_snapshot(
    paimon: PaimonPeer, warehouse: Path | str, name: str, catalog: Catalog | None = None
) -> int:
    """Compare all retained snapshots; how many there were. ``catalog`` is ours, if it needs other options."""
    ours = catalog or load_catalog({"warehouse": str(warehouse), **paimon.catalog_options})
    table = ours.load_table(name)
    ids = [snapshot.id for snapshot in table.snapshots()]
    assert paimon.snapshot_ids(warehouse, name) == ids
    for snapshot_id in ids:
        theirs = paimon.read_at(warehouse, name, snapshot_id)
        scan = table.copy({"scan.snapshot-id": str(snapshot_id)}).scan()
        fields = scan.plan().fields
        assert theirs["columns"] == [f.name for f in fields], f"{name} at snapshot {snapshot_id}"
        rows = json_rows(scan.to_arrow(), fields)
        assert rows_with_floats(theirs["rows"], fields) == rows, f"{name} at snapshot {snapshot_id}"
    return len(ids)
