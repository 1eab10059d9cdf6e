"""Values of options that are refused here: the real Paimon 1.4 fails with them, and not with the nearest others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from table_format import Table, load_catalog
from table_format.errors import TableFormatError
from table_format.model.schema_change import SetOption
from tests.oracle.peer import PaimonPeer, PeerError

VERSION = "1.4.2"
LOOKUP = {"changelog-producer": "lookup"}
BITMAP = {"file-index.bitmap.columns": "n"}
LIMITS: list[tuple[dict[str, str], str, str, str]] = [
    ({"page-size": "64 kb"}, "write-buffer-size", "192 kb", "191 kb"),
    ({"page-size": "1 kb"}, "write-buffer-size", f"{(2**31 - 1) << 10} b", f"{1 << 42} b"),
    ({}, "page-size", "128 b", "32 b"),
    ({}, "page-size", "1 kb", "1000 b"),
    ({"write-buffer-size": "192 kb"}, "local-sort.max-num-file-handles", "2", "1"),
    (LOOKUP, "lookup.cache.bloom.filter.fpp", "0.6", "0.99999"),
    (BITMAP, "file-index.bitmap.n.index-block-size", "20 b", "19 b"),
]


def write(paimon: PaimonPeer, warehouse: Path, options: dict[str, str]) -> None:
    """Make a large run and a small one above it, so that a compaction has to look up keys, and spill a buffer."""
    columns = [["k", "STRING NOT NULL"], ["v", "STRING"], ["n", "BIGINT"]]
    given = {"bucket": "1", "write-only": "true", **options}
    paimon.create_table(warehouse, "db.t", columns=columns, primary_keys=["k"], options=given)
    rows: list[list[Any]] = [["+I", [f"{n:08}", "x" * 400, n]] for n in range(2_000)]
    paimon.write(warehouse, "db.t", rows)
    table = load_catalog({"warehouse": str(warehouse)}).load_table("db.t")
    assert isinstance(table, Table)
    table.compact(full=True)
    for number in range(3):
        paimon.write(
            warehouse, "db.t", [["+U", [f"{n:08}", "y", number]] for n in (5, 7, 9)], **{"write-only": "false"}
        )
    assert len(paimon.read(warehouse, "db.t")["rows"]) == len(rows)


@pytest.mark.parametrize(("options", "key", "allowed", "refused"), LIMITS)
def test_the_real_paimon_fails_beyond_a_limit(
    peers: Callable[[str], PaimonPeer], tmp_path: Path, options: dict[str, str], key: str, allowed: str, refused: str
) -> None:
    paimon = peers(VERSION)
    write(paimon, tmp_path / "allowed", {**options, key: allowed})
    catalog = load_catalog({"warehouse": str(tmp_path / "allowed")})
    with pytest.raises(TableFormatError, match=key):
        catalog.alter_table("db.t", SetOption(key, refused))
    with pytest.raises(PeerError):
        write(paimon, tmp_path / "refused", {**options, key: refused})
