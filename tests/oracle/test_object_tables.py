"""Object tables beside the real Paimon, to which they are ordinary tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from table_format import ObjectTable, Schema, load_catalog
from tests.oracle.install import VERSIONS
from tests.oracle.peer import PaimonPeer, PeerError


def made(tmp_path: Path) -> ObjectTable:
    (tmp_path / "files" / "sub").mkdir(parents=True)
    for name in ("a.png", "sub/b.png", ".hidden"):
        (tmp_path / "files" / name).write_bytes(name.encode())
    catalog = load_catalog({"warehouse": f"{tmp_path}/w"})
    catalog.create_database("db")
    options = {"type": "object-table", "object-location": f"{tmp_path}/files"}
    found = catalog.create_table("db.t", Schema((), options=options))
    assert isinstance(found, ObjectTable)
    found.refresh()
    return found


def paths(rows: list[list[Any]], tmp_path: Path) -> list[str]:
    return sorted(row[0].removeprefix(f"{tmp_path}/files/") for row in rows)


def test_the_real_paimon_reads_every_snapshot_and_a_refresh_repairs_what_it_writes(
    paimon: PaimonPeer, tmp_path: Path
) -> None:
    table, warehouse = made(tmp_path), tmp_path / "w"
    (tmp_path / "files" / "c.png").write_bytes(b"c")
    table.refresh()
    found = paimon.read(warehouse, "db.t")
    assert found["columns"] == table.arrow_schema.names
    assert paths(found["rows"], tmp_path) == [".hidden", "a.png", "c.png", "sub/b.png"]
    assert [row[3] for row in found["rows"]] == table.scan(["length"]).to_arrow()["length"].to_pylist()
    assert paths(paimon.read_at(warehouse, "db.t", 1)["rows"], tmp_path) == [".hidden", "a.png", "sub/b.png"]
    paimon.write(warehouse, "db.t", [["+I", ["p", "q", "r", 1, *[None] * 8, {}]]])
    assert table.scan().count() == 5
    table.refresh()
    assert paths(paimon.read(warehouse, "db.t")["rows"], tmp_path) == [".hidden", "a.png", "c.png", "sub/b.png"]


def test_with_the_stored_type_it_would_list_the_files_of_the_table(
    peers: Callable[[str], PaimonPeer], tmp_path: Path
) -> None:
    made(tmp_path)
    paimon = peers(VERSIONS[-1])
    schema = tmp_path / "w/db.db/t/schema/schema-0"
    schema.write_text(schema.read_text().replace('"object-location"', '"type" : "object-table", "object-location"'))
    found = paimon.system_table(tmp_path / "w", "db.t")
    assert found["columns"] == ["path", "name", "length", "mtime", "atime", "owner"]
    assert "snapshot/snapshot-1" in [row[0] for row in found["rows"]]
    refused = {"columns": [], "options": {"type": "object-table"}, "primary_keys": [], "partition_keys": []}
    with pytest.raises(PeerError, match="object table"):
        paimon.create_table(tmp_path / "w", "db.u", **refused)
