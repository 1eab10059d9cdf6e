"""Tables with manifests in Parquet and ORC, written in turn by both."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from table_format import Schema, Table, load_catalog
from tests.oracle.peer import PaimonPeer

SCHEMA = pa.schema(
    [pa.field("k", pa.int32(), nullable=False), pa.field("dt", pa.string(), nullable=False), ("v", pa.string())]
)


def rows(first: int, text: str) -> list[tuple[int, str, str]]:
    return [(k, f"d{k % 2}", text) for k in range(first, first + 4)]


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
@pytest.mark.parametrize("compression", ["zstd", "none"])  # of which each format has its own word
@pytest.mark.parametrize("options", [{"bucket": "1", "deletion-vectors.enabled": "true"}, {"bucket": "-1"}], ids=str)
def test_both_continue_the_manifests_of_the_other(
    paimon: PaimonPeer, tmp_path: Path, file_format: str, compression: str, options: dict[str, str]
) -> None:
    """The index manifests have deletion vectors, or the hashes of dynamic buckets."""
    given = {"manifest.format": file_format, "manifest.compression": compression, "manifest.merge-min-count": "3"}
    schema = Schema.from_arrow(SCHEMA, ["k", "dt"], ["dt"], options | given)
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    catalog.create_table("db.t", schema)
    expected: dict[int, tuple[int, str, str]] = {}

    def check() -> Table:
        table = catalog.load_table("db.t")
        wanted = sorted(expected.values())
        assert sorted(map(tuple, paimon.read(tmp_path, "db.t")["rows"])) == wanted
        assert sorted(tuple(row.values()) for row in table.scan().to_arrow().to_pylist()) == wanted
        assert table.verify(depth="rows").is_healthy
        return table

    for turn in range(4):
        ours, theirs = rows(turn * 3, f"ours {turn}"), rows(turn * 3 + 2, f"theirs {turn}")
        table = check()
        table.append(pa.table(dict(zip(SCHEMA.names, zip(*ours, strict=True), strict=True)), SCHEMA))
        expected.update({row[0]: row for row in ours})
        check()
        paimon.write(tmp_path, "db.t", [["+I", list(row)] for row in theirs])
        expected.update({row[0]: row for row in theirs})
    table = check()
    table.delete("k = 5")
    table.compact(full=True)
    del expected[5]
    check()
    paimon.compact(tmp_path, "db.t")
    paths = [path for path in (tmp_path / "db.db" / "t" / "manifest").iterdir() if path.stat().st_size]
    assert {path.read_bytes()[:3] for path in paths} == {b"PAR" if file_format == "parquet" else b"ORC"}
    check()
